// SPDX-License-Identifier: MIT
//
// patchbay sql: a statement of libtracefs' sqlhist about the events of a program. Without JOIN it
// is a histogram, which is printed; with JOIN a synthetic event, whose rows are printed, or counted
// by a histogram on it (--hist).
#include <getopt.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "commands.h"
#include "hist_entries.h"
#include "hist_session.h"
#include "record.h"
#include "sql_build.h"
#include "sql_parse.h"
#include "tool_uses.h"
#include "tracefs_command.h"

namespace patchbay::cmd {
namespace {

constexpr char kHelp[] =
    "Usage: patchbay sql [OPTION...] STATEMENT -- CMD [ARG...]\n"
    "       patchbay sql [OPTION...] STATEMENT -p PID\n"
    "       patchbay sql -n -t DIR STATEMENT\n\n"
    "Asks the events of a program, or of a running process until Ctrl-C, in sqlhist's language:\n\n"
    "  SELECT ITEM[, ITEM]... FROM EVENT [[AS] LABEL]\n"
    "      [JOIN EVENT [[AS] LABEL] ON FIELD = FIELD[, FIELD = FIELD]...] [WHERE FILTER]\n\n"
    "  FIELD  [LABEL.]NAME; also TIMESTAMP, TIMESTAMP_USECS, STACKTRACE, and between the two "
    "events\n"
    "         TIMESTAMP_DELTA, TIMESTAMP_DELTA_USECS\n"
    "  ITEM   FIELD, fields and numbers with + - * /, CAST(FIELD AS TYPE), each with [AS] NAME\n"
    "  TYPE   HEX SYM SYM-OFFSET SYSCALL EXECNAME LOG2 BUCKETS=N of a key; _COUNTER_ PERCENT "
    "GRAPH\n"
    "         QUANTILES make the item a value\n\n"
    "Without JOIN the items are the keys of a histogram, which is printed at the end. With JOIN "
    "each\n"
    "pair of events is a row, printed at the end in the order of time.\n\n"
    "  -n, --dry-run     prints what would be written to a tracefs directory, and does nothing\n"
    "  -t DIR            with -n: asks the events of a tracefs in DIR\n"
    "  -e EVENT          defines an event first: 'FUNC(TYPE NAME, ...)', 'p:NAME PLACE ARG ...'\n"
    "      --name NAME   of the synthetic event, default query\n"
    "      --hist PARTS  with JOIN: counts the rows; 'keys=pid:vals=lat.quantiles'\n"
    "  -o FILE           with JOIN: keeps the rows in FILE (trace.dat), too\n"
    "  -p, --pid PID     the process; needed when there are several\n"
    "  -v, --verbose     prints what is written to the process's tracefs\n\n"
    "Example: patchbay sql -e 'malloc(u64 size)' 'SELECT CAST(size AS LOG2) FROM malloc' -- ls\n";

constexpr int kName = 1001, kHist = 1002;

struct SqlOptions {
  HistTarget target;
  bool dry_run = false, in_words = false;
  std::string directory, statement, name = "query", hist, output;
  std::vector<std::string> definitions;
};

bool is_identifier(const std::string& text) {
  const auto is_right = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && !(text[0] >= '0' && text[0] <= '9') &&
         std::all_of(text.begin(), text.end(), is_right);
}

const char* take_option(int letter, const std::string& value, SqlOptions* options) {
  switch (letter) {
    case 'n':
      options->dry_run = true;
      return nullptr;
    case 't':
      options->directory = value;
      return nullptr;
    case 'e':
      options->definitions.push_back(value);
      return nullptr;
    case 'o':
      options->output = value;
      return nullptr;
    case kName:
      options->name = value;
      return is_identifier(value) ? nullptr : "--name takes a name of letters, digits and _.";
    case kHist:
      options->hist = value.starts_with("hist:") ? value : "hist:" + value;
      return nullptr;
    case 'p':
      return parse_pid(value, &options->target.pid) ? nullptr : "-p takes a process id.";
    case 1:
      // A number behind a statement that is one word for the shell is no part of it.
      if (options->target.pid == 0 && options->statement.find(' ') != std::string::npos &&
          !options->in_words && parse_pid(value, &options->target.pid))
        return nullptr;
      options->in_words |= !options->statement.empty();
      options->statement += (options->statement.empty() ? "" : " ") + value;
      return nullptr;
    default:
      options->target.verbose = true;
      return nullptr;
  }
}

bool parse_command_line(int argc, char** argv, SqlOptions* options, int* status) {
  static const option kOptions[] = {{"dry-run", no_argument, nullptr, 'n'},
                                    {"name", required_argument, nullptr, kName},
                                    {"hist", required_argument, nullptr, kHist},
                                    {"pid", required_argument, nullptr, 'p'},
                                    {"verbose", no_argument, nullptr, 'v'},
                                    {"help", no_argument, nullptr, 'h'},
                                    {}};
  ::opterr = 0;
  const int own = options->target.take_words(argc, argv);
  for (int letter; (letter = ::getopt_long(own, argv, "-nt:e:o:p:vh", kOptions, nullptr)) != -1;) {
    if (letter == 'h') return std::fputs(kHelp, stdout), *status = kOk, false;
    if (letter == '?') return *status = bad_option("sql", argv), false;
    if (const char* wrong = take_option(letter, ::optarg ? ::optarg : "", options))
      return *status = usage_error("sql", wrong), false;
  }
  const char* wrong = nullptr;
  if (options->statement.empty()) wrong = "A statement is needed: SELECT FIELD FROM EVENT.";
  if (own < argc && options->target.words.empty()) wrong = "The program to run is missing.";
  if (own < argc && options->target.pid) wrong = "A process and a program to run are too much.";
  if (!options->directory.empty() && !options->dry_run) wrong = "-t belongs to -n.";
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

// A definition that got another name, because the process has one of its name that says something
// else, is not what the statement selects from.
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

Status define(HistSession* session, const SqlOptions& options) {
  for (const std::string& definition : options.definitions) {
    Result<std::string> event = session->define(definition);
    if (!event.ok()) return event.error();
    PB_TRY(check_name(options, definition, *event));
  }
  return {};
}

// The process is asked, and nothing is left behind in it.
int dry_run(const SqlOptions& options, const SqlQuery& query) {
  if (!options.directory.empty()) {
    Result<EventFormats> events = EventFormats::of_directory(options.directory);
    if (!events.ok()) return fail("sql", events.error());
    return print_plan(make_plan(options, query, *events));
  }
  HistSession session("sql", options.target);
  Status ready = session.connect();
  if (ready.ok()) ready = define(&session, options);
  if (!ready.ok()) return fail("sql", ready.error());
  Result<EventFormats> events = EventFormats::of_process(session.client());
  if (!events.ok()) return fail("sql", events.error());
  return print_plan(make_plan(options, query, *events));
}

// --- a histogram

int run_histogram(const SqlOptions& options, const SqlQuery& query) {
  HistSession session("sql", options.target);
  Status ready = session.connect();
  if (ready.ok()) ready = define(&session, options);
  if (ready.ok()) {
    Result<EventFormats> events = EventFormats::of_process(session.client());
    Result<HistPlan> plan = events.ok() ? make_plan(options, query, *events) : events.error();
    ready = plan.ok() ? session.apply(*plan) : plan.error();
  }
  if (!ready.ok()) return fail("sql", ready.error());
  return session.run(
      [](const std::vector<std::string>& texts) { return printable_hist(texts[0]); });
}

// --- rows

Status prepare_rows(serve::Client& client, const SqlOptions& options, const SqlQuery& query,
                    TraceRequest* request, AppliedRequest* applied) {
  for (const std::string& definition : options.definitions) {
    Result<std::vector<std::string>> names = define_event(client, {definition, ""}, applied);
    if (!names.ok()) return names.error();
    for (const std::string& name : *names) PB_TRY(check_name(options, definition, name));
  }
  Result<EventFormats> events = EventFormats::of_process(client);
  if (!events.ok()) return events.error();
  Result<HistPlan> plan = make_plan(options, query, *events);
  if (!plan.ok()) return plan.error();
  if (options.target.verbose) std::fputs(plan->commands().c_str(), stderr);
  const std::string directory = request->instances()[0].directory();
  for (const HistPlan::Write& write : plan->writes) {
    const bool defines = write.path == "dynamic_events";
    const std::string path = defines ? write.path : directory + write.path;
    PB_TRY(client.write_all(path, write.text + "\n", false));
    if (applied->uses && defines)
      applied->uses->add(ToolUse::Kind::kEvent, "synthetic/" + plan->synthetic);
    else if (applied->uses)
      applied->uses->add(ToolUse::Kind::kTrigger, path, write.text);
  }
  (void)request->take('e', ("synthetic:" + plan->synthetic).c_str());
  return {};
}

int run_rows(const SqlOptions& options, const SqlQuery& query) {
  RecordOptions record;
  record.command = "sql";
  record.pid = options.target.pid;
  record.words = options.target.words;
  record.quiet = record.print = true;
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
  if (record.pid == 0 && record.words.empty()) {
    Result<std::unique_ptr<serve::Client>> only = choose_process(0);
    if (only.ok()) record.pid = (*only)->pid();
    if (!only.ok()) status = fail("sql", only.error());
  }
  if (status == kOk) status = record.pid != 0 ? record_process(record) : record_program(record);
  std::error_code ignored;
  if (options.output.empty()) std::filesystem::remove_all(directory, ignored);
  return status;
}

}  // namespace

int run_sql(int argc, char** argv) {
  SqlOptions options;
  int status = kOk;
  if (!parse_command_line(argc, argv, &options, &status)) return status;
  SqlParse parse = parse_sql(options.statement);
  if (!parse.query) return fail("sql", "\n" + parse.error->show(options.statement));
  if (options.dry_run) return dry_run(options, *parse.query);
  const bool has_rows = parse.query->join && options.hist.empty();
  return has_rows ? run_rows(options, *parse.query) : run_histogram(options, *parse.query);
}

}  // namespace patchbay::cmd
