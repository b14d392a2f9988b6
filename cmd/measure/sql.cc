// SPDX-License-Identifier: MIT
//
// patchbay sql: a statement of libtracefs' sqlhist about the events of a program. Without JOIN it
// is a histogram, which is printed; with JOIN a synthetic event, whose rows are printed, or counted
// by a histogram on it (--hist).
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/tracefs_command.h"
#include "cmd/measure/hist_json.h"
#include "cmd/measure/hist_session.h"
#include "cmd/measure/sql_build.h"
#include "cmd/measure/sql_clickhouse.h"
#include "cmd/measure/sql_parse.h"
#include "cmd/record/record.h"
#include "cmd/target/apply_request.h"
#include "cmd/target/event_definition.h"
#include "cmd/target/follow_request.h"
#include "cmd/target/tool_uses.h"
#include "hist/text/hist_text.h"
#include "ship/clickhouse_sink.h"

namespace patchbay::cmd {
namespace {

constexpr int kName = kFirstOptionId, kHist = kFirstOptionId + 1, kAt = kFirstOptionId + 2,
              kDatabase = kFirstOptionId + 3, kUser = kFirstOptionId + 4,
              kPasswordFile = kFirstOptionId + 5;
constexpr Option kOptions[] = {
    {.letter = 'e',
     .name = "event",
     .argument = "EVENT",
     .help = "defines an event first: 'FUNC(TYPE NAME, ...)', 'p:NAME PLACE ARG ...'",
     .more = "EVENT is what `patchbay record -e` takes. The statement calls a function's event by "
             "the function's name.",
     .repeats = true},
    {.name = "name",
     .argument = "NAME",
     .help = "names the synthetic event; the default is query",
     .id = kName},
    {.name = "hist",
     .argument = "PARTS",
     .help = "with JOIN: counts the rows by a histogram on them, and prints that: "
             "'keys=pid:vals=lat.quantiles'",
     .id = kHist},
    {.name = "json",
     .help =
         "prints a row as one JSON object a line, as report --json does, and a histogram as one "
         "object, as hist --json does",
     .more = "Nothing is shown before the end.",
     .id = kHistJson},
    kPerProcessOption,
    kHistFollowOption,
    {.letter = 'o',
     .name = "output",
     .argument = "FILE",
     .help = "with JOIN: keeps the rows in FILE, a trace.dat, too; of a histogram: writes it to "
             "FILE, apart from what CMD prints"},
    {.letter = 'n',
     .name = "dry-run",
     .help = "prints what would be written to a tracefs directory, and does nothing",
     .more = "It is printed as a shell would do it. CMD is not run."},
    {.letter = 'm',
     .name = "mount",
     .argument = "DIR",
     .help = "with -n: asks the events of the tracefs in DIR, a mount or a copy"},
    {.name = "at",
     .argument = "URL",
     .help = "asks the tables that patchbay ship has made in the ClickHouse server at URL",
     .more = "Statements with JOIN cannot be asked there.",
     .group = "A server",
     .id = kAt},
    {.name = "database",
     .argument = "NAME",
     .help = "with --at: the database of the tables; the default is patchbay",
     .id = kDatabase},
    {.name = "user", .argument = "NAME", .help = "with --at: the user", .id = kUser},
    {.name = "password-file",
     .argument = "FILE",
     .help = "with --at: reads the user's password from the first line of FILE (mode 600)",
     .id = kPasswordFile},
    kVerboseOption,
    {.letter = 't', .argument = "DIR", .id = 'm', .kind = Option::Kind::kOldSpelling},
};

struct SqlOptions {
  HistTarget target;
  bool dry_run = false, in_words = false;
  std::string directory, statement, name = "query", hist, output;
  std::vector<std::string> definitions;
  ClickhouseChoice server;  // its url: --at
  std::string password_file;
};

bool is_identifier(const std::string& text) {
  const auto is_right = [](char c) { return is_name_char(c); };
  return !text.empty() && !is_digit(text[0]) && std::all_of(text.begin(), text.end(), is_right);
}

const char* take_option(int id, const std::string& value, SqlOptions* options) {
  switch (id) {
    case 'n':
      options->dry_run = true;
      return nullptr;
    case 'm':
      options->directory = value;
      return nullptr;
    case 'e':
      options->definitions.push_back(value);
      return nullptr;
    case 'o':
      options->output = value;
      return nullptr;
    case kAt:
      options->server.url = value;
      return value.empty() ? "--at takes the address of a server." : nullptr;
    case kDatabase:
      options->server.database = value;
      return nullptr;
    case kUser:
      options->server.user = value;
      return nullptr;
    case kPasswordFile:
      options->password_file = value;
      return nullptr;
    case kName:
      options->name = value;
      return is_identifier(value) ? nullptr : "--name takes a name of letters, digits and _.";
    case kHist:
      options->hist = value.starts_with("hist:") ? value : "hist:" + value;
      return nullptr;
    case kWordId:
      // A number behind a statement that is one word for the shell is no part of it.
      if (options->statement.find(' ') != std::string::npos && !options->in_words &&
          options->target.take_pid_word(value))
        return nullptr;
      options->in_words |= !options->statement.empty();
      options->statement += (options->statement.empty() ? "" : " ") + value;
      return nullptr;
    default:
      return options->target.take_option(id, value);
  }
}

bool parse_command_line(int argc, char** argv, SqlOptions* options, int* status) {
  const int own = options->target.take_words(argc, argv);
  const auto take = [&](int id, const char* value) { return take_option(id, value, options); };
  if (const std::optional<int> ended = parse_options(kSqlLine, own, argv, take))
    return *status = *ended, false;
  const char* wrong = nullptr;
  if (options->statement.empty()) wrong = "A statement is needed: SELECT FIELD FROM EVENT.";
  if (!wrong && options->server.url.empty()) wrong = options->target.check(own < argc);
  if (!options->server.url.empty() && (own < argc || options->target.processes.is_several() ||
                                       options->target.processes.only_pid() != 0))
    wrong = "--at asks a server, and no process.";
  if (options->target.processes.is_several() && options->dry_run)
    wrong = "-n asks one process: what would be written is the same in each.";
  if (!options->directory.empty() && !options->dry_run) wrong = "-m belongs to -n.";
  if (options->target.json && options->dry_run)
    wrong = "--json is for what a statement finds, and -n finds nothing: leave one of them out.";
  if (wrong) *status = usage_error("sql", wrong);
  return wrong == nullptr;
}

// The plan of the statement, and of --hist. Errors of the statement show where.
Result<HistPlan> make_plan(const SqlOptions& options, const SqlQuery& query, EventFormats& events) {
  std::string name = options.name;
  for (int i = 2; events.has("synthetic", name); i++) name = options.name + std::to_string(i);
  SqlBuild made = build_sql(query, events, name);
  if (!made.plan) return user_error(EINVAL, "\n" + made.error->show(options.statement));
  HistPlan plan = std::move(*made.plan);
  if (options.hist.empty()) return plan;
  if (plan.synthetic.empty()) return user_error(EINVAL, "--hist is for statements with JOIN.");
  const std::string directory = "events/synthetic/" + plan.synthetic;
  plan.writes.push_back({directory + "/trigger", options.hist});
  plan.histograms.push_back(directory);
  return plan;
}

int print_plan(Result<HistPlan> plan) {
  if (!plan.ok()) return fail("sql", plan.error());
  std::fputs(plan->commands().c_str(), stdout);
  return kOk;
}

// The process may have an event of this name that says something else. Then the definition got
// another name, and the statement does not select from it.
Status check_name(const SqlOptions& options, const std::string& definition,
                  const std::string& event) {
  const std::string name = event.substr(event.find(':') + 1);
  const size_t digits = name.find_last_not_of("0123456789");
  const std::string stem = name.substr(0, digits == name.npos ? 0 : digits);
  const bool is_renamed = digits + 1 < name.size() && name[digits] == '_';
  if (!is_renamed || options.statement.find(name) != std::string::npos ||
      options.statement.find(stem) == std::string::npos)
    return {};
  return user_error(EEXIST, "-e '" + definition + "': the process has another event " + stem +
                                "; give this one a name of its own, and select from that.");
}

Status define(CountedProcess* process, const SqlOptions& options) {
  for (const std::string& definition : options.definitions) {
    PB_ASSIGN(std::string event, process->define(definition));
    PB_TRY(check_name(options, definition, event));
  }
  return {};
}

// --- a server

Result<std::string> translate(ClickhouseSink& server, const SqlOptions& options,
                              const SqlQuery& query) {
  const std::string database = quote_sql_text(options.server.database);
  PB_ASSIGN(std::string answer, server.ask("SELECT name FROM system.tables WHERE database = " +
                                           database + " FORMAT TabSeparated"));
  PB_ASSIGN(auto rows, parse_tab_separated(answer, 1));
  std::vector<std::string> tables;
  for (auto& row : rows) tables.push_back(std::move(row[0]));
  const SqlAtTable table = sql_at_table(query.from, tables);
  if (table.error) return user_error(EINVAL, "\n" + table.error->show(options.statement));
  PB_ASSIGN(answer,
            server.ask("SELECT name, type FROM system.columns WHERE database = " + database +
                       " AND table = " + quote_sql_text(table.name) + " FORMAT TabSeparated"));
  PB_ASSIGN(ServerColumns columns, parse_server_columns(answer));
  SqlAt made = sql_at(query, options.server.database, table.name, columns);
  if (made.error) return user_error(EINVAL, "\n" + made.error->show(options.statement));
  return *made.statement +
         (options.target.json ? " FORMAT JSONEachRow" : " FORMAT TabSeparatedWithNames");
}

int ask_server(const SqlOptions& options, const SqlQuery& query) {
  ClickhouseChoice choice = options.server;
  const Status password = choice.read_password(options.password_file);
  if (!password.ok()) return fail("sql", password.error());
  auto server = ClickhouseSink::make(choice, {});
  if (!server.ok()) return fail("sql", server.error());
  Result<std::string> statement = translate(**server, options, query);
  if (!statement.ok()) return fail("sql", statement.error());
  if (options.dry_run) {
    std::printf("%s\n", printable(*statement).c_str());
    return kOk;
  }
  Result<std::string> answer = (*server)->ask(*statement);
  if (!answer.ok()) return fail("sql", answer.error());
  std::fputs(printable(*answer).c_str(), stdout);
  return kOk;
}

// The process is asked, and nothing is left behind in it.
int dry_run(const SqlOptions& options, const SqlQuery& query) {
  if (!options.directory.empty()) {
    Result<EventFormats> events = EventFormats::of_directory(options.directory);
    if (!events.ok()) return fail("sql", events.error());
    return print_plan(make_plan(options, query, *events));
  }
  CountedProcess process;
  const HistTarget& target = options.target;
  Status ready = target.words.empty() ? process.attach(target.processes.only_pid())
                                      : process.start(target.words, false);
  if (ready.ok()) ready = define(&process, options);
  if (!ready.ok()) return fail("sql", ready.error());
  Result<EventFormats> events = EventFormats::of_process(process.client());
  if (!events.ok()) return fail("sql", events.error());
  return print_plan(make_plan(options, query, *events));
}

// --- a histogram

FollowWishes wishes(const SqlOptions& options, const SqlQuery& query) {
  std::vector<EventRequest> events;
  for (const std::string& definition : options.definitions) events.push_back({definition, ""});
  events.push_back({join(query.from.words, ":"), ""});
  if (query.join) events.push_back({join(query.join->words, ":"), ""});
  return wishes_of(events);
}

int run_histogram(const SqlOptions& options, const SqlQuery& query) {
  HistTarget target = options.target;
  target.output = options.output;
  target.wishes = wishes(options, query);
  HistSession session("sql", target, [&](CountedProcess& process) -> Result<HistPlan> {
    PB_TRY(define(&process, options));
    PB_ASSIGN(EventFormats events, EventFormats::of_process(process.client()));
    return make_plan(options, query, events);
  });
  return session.run([&](const HistImage& image) {
    return target.json ? hist_json(image) : hist_text(image, HistStyle::kTerminal);
  });
}

// --- rows

Status prepare_rows(serve::Client& client, const SqlOptions& options, const SqlQuery& query,
                    TraceRequest* request, AppliedRequest* applied) {
  for (const std::string& definition : options.definitions) {
    PB_ASSIGN(std::vector<std::string> names, define_event(client, {definition, ""}, applied));
    for (const std::string& name : names) PB_TRY(check_name(options, definition, name));
  }
  PB_ASSIGN(EventFormats events, EventFormats::of_process(client));
  PB_ASSIGN(HistPlan plan, make_plan(options, query, events));
  if (options.target.verbose) std::fputs(plan.commands().c_str(), stderr);
  const std::string directory = request->instances()[0].directory();
  for (const HistPlan::Write& write : plan.writes) {
    const bool defines = write.path == "dynamic_events";
    const std::string path = defines ? write.path : directory + write.path;
    PB_TRY(client.write_all(path, write.text + "\n", false));
    if (applied->uses && defines)
      applied->uses->add(ToolUse::Kind::kEvent, "synthetic/" + plan.synthetic);
    else if (applied->uses)
      applied->uses->add(ToolUse::Kind::kTrigger, path, write.text);
  }
  (void)request->take('e', ("synthetic:" + plan.synthetic).c_str());
  return {};
}

int run_rows(const SqlOptions& options, const SqlQuery& query) {
  RecordOptions record;
  record.command = "sql";
  const bool has_several = options.target.processes.is_several();
  if (has_several)
    record.several = options.target.processes;
  else
    record.pid = options.target.processes.only_pid();
  record.words = options.target.words;
  record.quiet = record.print = true;
  record.json = options.target.json;
  record.output = options.output;
  char directory[] = "/tmp/patchbay-sql-XXXXXX";
  if (record.output.empty()) {
    if (!::mkdtemp(directory)) return fail("sql", sys_error("make a directory in /tmp", errno));
    record.output = std::string(directory) + "/trace.dat";
  }
  record.prepare = [&](serve::Client& client, TraceRequest* request, AppliedRequest* applied) {
    return prepare_rows(client, options, query, request, applied);
  };
  int status = kOk;
  if (record.pid == 0 && record.words.empty() && !has_several) {
    Result<std::unique_ptr<serve::Client>> only = choose_process(0);
    if (only.ok()) record.pid = (*only)->pid();
    if (!only.ok()) status = fail("sql", only.error());
  }
  if (status == kOk && has_several)
    status = record_processes(record);
  else if (status == kOk)
    status = record.pid != 0 ? record_process(record) : record_program(record);
  // What could not be made one file stays where the message says.
  std::error_code ignored;
  const bool is_kept =
      status != kOk && has_several && !std::filesystem::is_empty(directory, ignored);
  if (options.output.empty() && !is_kept) std::filesystem::remove_all(directory, ignored);
  return status;
}

}  // namespace

constexpr CommandLine kSqlLine = {
    .name = "sql",
    .summary = "ask events of a program in sqlhist's language",
    .synopsis =
        "sql [OPTION...] STATEMENT -- CMD [ARG...]\n"
        "sql [OPTION...] STATEMENT [-p PID]\n"
        "sql [OPTION...] STATEMENT -p PID,PID...|--all|--service NAME|--cgroup PATH\n"
        "sql -n -m DIR STATEMENT\n"
        "sql --at URL STATEMENT",
    .about = R"(Asks the events of a program, or of a running process until Ctrl-C, in sqlhist's
language:

  SELECT ITEM[, ITEM]... FROM EVENT [[AS] LABEL]
      [JOIN EVENT [[AS] LABEL] ON FIELD = FIELD[, FIELD = FIELD]...] [WHERE FILTER]

  FIELD  [LABEL.]NAME; also TIMESTAMP, TIMESTAMP_USECS, STACKTRACE, and between the
         two events TIMESTAMP_DELTA, TIMESTAMP_DELTA_USECS
  ITEM   FIELD, fields and numbers with + - * /, CAST(FIELD AS TYPE), each with
         [AS] NAME
  TYPE   HEX SYM SYM-OFFSET SYSCALL EXECNAME LOG2 BUCKETS=N of a key; _COUNTER_
         PERCENT GRAPH QUANTILES make the item a value

Without JOIN the items are the keys of a histogram, which is printed at the end.
With JOIN each pair of events is a row; the rows are printed at the end in the
order of time. Several processes have one table, or one list of rows; a pair is of
one process.

)",
    .options = {kProcessOptions, kOptions, kChosenProcessOptions},
    .after = R"(Example: patchbay sql -e 'malloc(u64 size)' \
             'SELECT CAST(size AS LOG2) FROM malloc' -- ls
)",
    .order = CommandLine::Words::kInOrder,
    .attaches = true,
    .lasts = true,
};

int run_sql(int argc, char** argv) {
  SqlOptions options;
  int status = kOk;
  if (!parse_command_line(argc, argv, &options, &status)) return status;
  SqlParse parse = parse_sql(options.statement);
  if (!parse.query) return fail("sql", "\n" + parse.error->show(options.statement));
  if (!options.server.url.empty()) return ask_server(options, *parse.query);
  if (options.dry_run) return dry_run(options, *parse.query);
  const bool has_rows = parse.query->join && options.hist.empty();
  if (has_rows && options.target.per_process)
    return usage_error("sql", "--per-process is for histograms: a row says its process.");
  if (has_rows && options.target.waits_for_events)
    return usage_error("sql", "--follow is for histograms: rows are of the first program.");
  return has_rows ? run_rows(options, *parse.query) : run_histogram(options, *parse.query);
}

}  // namespace patchbay::cmd
