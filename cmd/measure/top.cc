// SPDX-License-Identifier: MIT
//
// patchbay top: the functions of a running process, or of several, by calls and time, live, from
// their function profilers.
//
//   connect, or start CMD, held before main()
//   switch the profiler on           it is off again when we end, however that is
//   let CMD run
//   in a terminal: a table that is drawn anew; keys          else: a table every SECS seconds
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/monotonic_clock.h"
#include "base/output_file.h"
#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/print_file.h"
#include "cmd/common/run_time.h"
#include "cmd/common/terminal.h"
#include "cmd/common/tracefs_command.h"
#include "cmd/measure/looks.h"
#include "cmd/measure/top_processes.h"
#include "cmd/measure/top_profile.h"
#include "cmd/measure/top_table.h"
#include "cmd/record/record_report.h"
#include "cmd/report/graph_source.h"
#include "cmd/target/process_word.h"
#include "cmd/target/target_program.h"
#include "output/trace_line.h"

namespace patchbay::cmd {
namespace {

constexpr int kSelf = kFirstOptionId, kOnce = kSelf + 1, kRows = kSelf + 2, kNumber = kSelf + 3,
              kJson = kSelf + 4, kPerProcess = kSelf + 5;
constexpr Option kOptions[] = {
    {.letter = 'l',
     .name = "function",
     .argument = "GLOB",
     .help = "profiles these functions only: 'db_*', 'ns::Class::*', 'f*:mod:libfoo*'",
     .more = "GLOB is what -l of patchbay-record(1) takes.",
     .repeats = true},
    {.letter = 'N',
     .name = "notrace",
     .argument = "GLOB",
     .help = "does not profile these functions",
     .repeats = true},
    {.letter = 's',
     .name = "sort",
     .argument = "time|calls|average|name",
     .help = "sorts by this column; the default is time"},
    {.name = "self", .help = "shows times without what a function calls", .id = kSelf},
    {.letter = 'F',
     .name = "only",
     .argument = "FUNC",
     .help = "shows only functions whose names contain FUNC, or that fit it as a glob"},
    {.letter = 'd',
     .name = "delay",
     .argument = "SECS",
     .help = "waits SECS between two looks; the default is 1"},
    {.name = "number", .argument = "COUNT", .help = "ends after COUNT looks", .id = kNumber},
    {.name = "once",
     .help = "prints one table, for scripts: of SECS seconds, or of the whole run of CMD",
     .more =
         "The counts of a program end with it: it is looked at ten times a second, and what came "
         "after the last look is missing when it is killed or calls _exit(2). How long that was is "
         "said on standard error.",
     .id = kOnce},
    {.name = "rows", .argument = "COUNT", .help = "shows COUNT functions only", .id = kRows},
    {.name = "json",
     .help = "prints each table as one JSON object on a line, and no screen",
     .more = "Times are in nanoseconds. Recent figures begin at the table before.",
     .id = kJson},
    {.name = "per-process",
     .help = "prints the table of each process, too, before that of all",
     .id = kPerProcess},
    {.letter = 'o',
     .name = "output",
     .argument = "FILE",
     .help = "writes tables to FILE, apart from what CMD prints; no screen"},
    {.letter = 'n', .argument = "GLOB", .id = 'N', .kind = Option::Kind::kOldSpelling},
    {.name = "filter", .argument = "TEXT", .id = 'F', .kind = Option::Kind::kOldSpelling},
};

// Between looks at a program that is started.
constexpr int kFirstOwnLookMs = 2, kMostOwnLookMs = 100;

struct TopOptions : TopRequest {
  TopView view;
  double delay = 1;
  bool delay_given = false, once = false, json = false, per_process = false;
  std::string output;  // the file of the tables; empty: standard output
  uint64_t looks = 0;  // 0: no end
  size_t rows = SIZE_MAX;
};

// --- command line

const char* take_sort(const std::string& value, TopView* view) {
  if (value != "time" && value != "calls" && value != "average" && value != "name")
    return "-s takes time, calls, average or name.";
  view->sort = TopSort(value[0]);
  return nullptr;
}

// Null when the option is right, else the sentence about it.
const char* take_option(int id, const std::string& value, TopOptions* options) {
  if (is_process_option(id)) return options->processes.take(id, value);
  switch (id) {
    case 'l':
      options->functions.push_back(value);
      return nullptr;
    case 'N':  // a number is the old spelling of --number
      if (parse_positive(value, &options->looks)) return nullptr;
      options->not_functions.push_back(value);
      return nullptr;
    case 's':
      return take_sort(value, &options->view);
    case 'F':
      options->view.filter = value;
      return nullptr;
    case 'd':
      options->delay_given = true;
      return parse_positive(value, &options->delay) && options->delay < 1e6 ? nullptr
                                                                            : "-d takes seconds.";
    case kNumber:
      return parse_positive(value, &options->looks) ? nullptr : "--number takes a number.";
    case kRows:
      return parse_positive(value, &options->rows) ? nullptr : "--rows takes a number.";
    case kJson:
      options->json = true;
      return nullptr;
    case 'o':
      options->output = value;
      return value.empty() ? "-o takes a file." : nullptr;
    case kPerProcess:
      options->per_process = true;
      return nullptr;
    case kSelf:
      options->view.self_time = true;
      return nullptr;
    default:
      options->once = true;
      options->looks = 1;
      return nullptr;
  }
}

bool parse_command_line(int argc, char** argv, TopOptions* options, int* status) {
  const auto take = [&](int id, const char* value) { return take_option(id, value, options); };
  for (;;) {  // options stand behind the process's id, too
    if (const std::optional<int> ended = parse_options(kTopLine, argc, argv, take))
      return *status = *ended, false;
    const bool is_command = ::optind > 1 && std::string_view(argv[::optind - 1]) == "--";
    int pid = 0;
    const bool is_named = !options->processes.pids.empty() || options->processes.is_several();
    if (is_command || is_named || !take_pid_word(argv, argc, &pid)) break;
    options->processes.pids.push_back(pid);
  }
  options->words.assign(argv + ::optind, argv + argc);
  // `top server`: the running ones, where no program can be meant.
  const bool is_one_word =
      options->words.size() == 1 && argv[::optind - 1] != std::string_view("--");
  if (is_one_word && !find_program(options->words[0]).ok()) {
    options->processes.pids = processes_called(options->words[0]);
    if (!options->processes.pids.empty()) options->words.clear();
  }
  const ProcessChoice& processes = options->processes;
  const char* wrong = nullptr;
  if (!options->words.empty() && (processes.is_several() || !processes.pids.empty()))
    wrong = "A process or a program to run is needed, not both.";
  if (options->per_process && !processes.is_several())
    wrong = "--per-process is about several processes: -p A -p B, --all, --cgroup, --exe.";
  if (wrong) *status = usage_error("top", wrong);
  return wrong == nullptr;
}

// --- what both ways of showing share

using Member = TopProcesses::Member;

struct Top {
  const TopOptions& options;
  TopProcesses& processes;
  TopView view;
  size_t chosen = 0;   // of several: the number of the process that is shown; 0: the sum
  size_t nr_said = 0;  // of those that are left out

  const Member* shown_member() const {
    const auto& members = processes.members();
    return chosen == 0 || chosen > members.size() ? nullptr : members[chosen - 1].get();
  }
  const TopTable& table() const {
    const Member* const member = shown_member();
    return member ? member->table : processes.sum();
  }
  Status start() { return processes.start(view.self_time); }
};

std::string process_text(const Member& member) {
  std::string text = "process " + std::to_string(member.pid) + " ";
  append_escaped(&text, member.exe);
  return text + (member.has_ended ? " (has ended)" : "");
}

std::string who(const Top& top) {
  const auto& members = top.processes.members();
  if (!top.processes.is_several()) return process_text(top.processes.own());
  if (const Member* const member = top.shown_member())
    return process_text(*member) + " (" + std::to_string(top.chosen) + " of " +
           std::to_string(members.size()) + ")";
  size_t ended = 0, silent = 0;
  for (const auto& member : members) {
    ended += member->has_ended;
    silent += !member->has_ended && member->is_silent;
  }
  const size_t refused = top.processes.refused().size();
  std::string text = std::to_string(members.size()) + " processes";
  if (ended) text += ", " + std::to_string(ended) + " of them ended";
  if (silent) text += ", " + std::to_string(silent) + " of them silent";
  if (refused) text += ", and " + std::to_string(refused) + " that cannot be profiled";
  return text;
}

// Null: the sum.
std::string head_of(const Top& top, const Member* member) {
  const TopTable& table = member ? member->table : top.processes.sum();
  char figures[96];
  std::snprintf(figures, sizeof figures, ", %.1f s, %zu functions, %llu calls",
                member ? member->seconds() : top.processes.seconds(), table.rows({}).size(),
                static_cast<unsigned long long>(table.all().calls));
  const std::string whose =
      member && member != top.shown_member() ? process_text(*member) : who(top);
  return "patchbay top: " + whose + figures;
}

// --- without a terminal

std::string counts_json(const Top& top, const TopTable& table) {
  return "\"calls\": " + std::to_string(table.all().calls) +
         ", \"functions\": " + top_rows_json(table, top.view, top.options.rows) + "}";
}

std::string process_json(const Member& member) {
  return "{\"pid\": " + std::to_string(member.pid) + ", \"exe\": " + json_quote(member.exe);
}

std::string seconds_json(double seconds) {
  char text[48];
  std::snprintf(text, sizeof text, "\"seconds\": %.6f", seconds);
  return text;
}

std::string processes_json(const Top& top) {
  std::string text = "{\"processes\": [", comma;
  for (const auto& member : top.processes.members()) {
    text += comma + process_json(*member) +
            ", \"has_ended\": " + (member->has_ended ? "true" : "false");
    text += top.options.per_process
                ? ", " + seconds_json(member->seconds()) + ", " + counts_json(top, member->table)
                : "}";
    comma = ", ";
  }
  text += "], \"refused\": [", comma = "";
  for (const TakenProcesses::Refused& one : top.processes.refused()) {
    text += comma + "{\"pid\": " + std::to_string(one.pid) + ", \"exe\": " + json_quote(one.exe) +
            ", \"reason\": " + json_quote(one.reason) + "}";
    comma = ", ";
  }
  return text + "]";
}

std::string table_json(const Top& top) {
  const TopTable& sum = top.processes.sum();
  char recent[48];
  std::snprintf(recent, sizeof recent, ", \"recent_seconds\": %.6f", sum.recent_seconds());
  return (top.processes.is_several() ? processes_json(top) : process_json(top.processes.own())) +
         ", " + seconds_json(top.processes.seconds()) + recent +
         ", \"self_time\": " + (top.view.self_time ? "true" : "false") + ", " +
         counts_json(top, sum) + "\n";
}

// Null: the sum.
std::string table_text(const Top& top, const Member* member) {
  return "# " + head_of(top, member) + "\n" + top_head(top.view) +
         top_text(member ? member->table : top.processes.sum(), top.view, 0, top.options.rows,
                  SIZE_MAX);
}

std::string tables_text(const Top& top) {
  std::string text;
  if (top.options.per_process)
    for (const auto& member : top.processes.members()) text += table_text(top, member.get());
  return text + table_text(top, nullptr);
}

// False when the file does not take it.
bool print_table(const Top& top, std::FILE* file) {
  const std::string text = top.options.json ? table_json(top) : tables_text(top);
  return std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
}

// Until a time; a signal, or the end of the one that reads our output (false); or the end of the
// process (false, and *ended). Processes are looked at meanwhile, as their counts may be gone with
// them; and those that come are taken in.
bool wait_until(Top& top, uint64_t end_ns, LookPause* pause, bool* ended) {
  for (uint64_t now_ns; (now_ns = monotonic_ns()) < end_ns;) {
    const int ms = int(std::min<uint64_t>((end_ns - now_ns) / 1000000 + 1, uint64_t(pause->ms())));
    if (top.processes.child()) {
      const TracedChild::Event event = top.processes.wait(ms);
      if (event == TracedChild::Event::kStopRequested) return false;
      *ended = event == TracedChild::Event::kExited;
    } else {
      ::usleep(useconds_t(ms) * 1000);
      *ended = top.processes.ended();
    }
    if (interrupted() || *ended) return false;
    const int64_t began_ms = monotonic_ms();
    top.processes.look();
    top.processes.take_in_newcomers();
    pause->next(top.processes.is_several() ? monotonic_ms() - began_ms : 0);
  }
  return true;
}

// Who is left out, and whose counts are missing.
void say_news(Top& top) {
  const auto& refused = top.processes.refused();
  for (; top.nr_said < refused.size(); top.nr_said++) remark(refused[top.nr_said].text());
  for (const std::string& loss : top.processes.take_losses())
    std::fprintf(stderr, "patchbay top: %s\n", printable(loss).c_str());
}

void say_end(const Top& top) {
  if (top.processes.is_several())
    std::fprintf(stderr, "patchbay top: all processes have ended\n");
  else
    std::fprintf(stderr, "patchbay top: process %d has ended\n",
                 top.processes.members().front()->pid);
}

int print_tables(Top& top, std::FILE* file) {
  const TopOptions& options = top.options;
  TopProcesses& processes = top.processes;
  const bool has_child = processes.child() != nullptr;
  bool whole_run = options.once && !options.delay_given && has_child;
  uint64_t delay_ns = uint64_t((whole_run ? 1e9 : options.delay) * 1e9);
  bool ended = false;
  LookPause pause =
      has_child ? LookPause(kFirstOwnLookMs, kMostOwnLookMs) : LookPause(kFirstLookMs, kMostLookMs);
  for (uint64_t look = 0; options.looks == 0 || look < options.looks; look++) {
    const bool going_on = wait_until(top, monotonic_ns() + delay_ns, &pause, &ended);
    processes.look();
    if (!print_table(top, file) && !interrupted())
      return fail("top", sys_error("write the table", errno));
    say_news(top);
    processes.begin_recent();  // of the next table
    if (going_on) continue;
    if (ended && !whole_run) say_end(top);
    break;
  }
  const Member* const own = has_child ? &processes.own() : nullptr;
  if (ended && own && !own->has_left_counts)
    std::fprintf(stderr,
                 "patchbay top: the program was killed, or ended without exit handlers; the last "
                 "look was %.2f s before the end was noticed\n",
                 double(monotonic_ns() - own->looked_ns) / 1e9);
  return kOk;
}

// --- in a terminal

struct Screen {
  bool paused = false, ended = false, quit = false, typing = false;
  size_t first = 0;
  std::string typed, message;
};

std::string status_line(const Top& top, const Screen& screen) {
  if (screen.typing) return "filter: " + screen.typed + "_";
  std::string sort = top.view.sort == TopSort::kTime      ? "time"
                     : top.view.sort == TopSort::kCalls   ? "calls"
                     : top.view.sort == TopSort::kAverage ? "average"
                                                          : "name";
  std::string text = "by " + sort + (top.view.by_recent ? " since the last look" : "");
  if (!top.view.filter.empty()) {
    text += ", filter: ";
    append_escaped(&text, top.view.filter);
  }
  if (screen.paused) text += ", paused";
  if (screen.ended)
    text += top.processes.is_several() ? ", all have ended" : ", the process has ended";
  if (!screen.message.empty()) text += ", " + screen.message;
  return text +
         (top.processes.is_several() ? "   (t c a n s i / p r [ ] q)" : "   (t c a n s i / p r q)");
}

void draw(Top& top, Screen& screen, Terminal& terminal) {
  Terminal::Size size = terminal.size();
  size_t rows = size.rows > 4 ? size.rows - 3 : 1;
  const TopTable& table = top.table();
  size_t all = table.rows(top.view).size();
  screen.first = std::min(screen.first, all > rows ? all - rows : 0);
  terminal.show(
      head_of(top, top.shown_member()) + "\n" + status_line(top, screen) + "\n\033[7m" +
      top_head(top.view).substr(0, size.columns + 3) + "\033[0m" +
      top_text(table, top.view, screen.first, std::min(rows, top.options.rows), size.columns));
}

// A key while the filter is typed.
void type(int key, TopView* view, Screen* screen) {
  if (key == kKeyEscape || key == '\r' || key == '\n' || key == 3) {
    if (key == '\r' || key == '\n') view->filter = screen->typed;
    screen->typing = false;
  } else if (key == kKeyBackspace) {
    while (!screen->typed.empty() && (screen->typed.back() & 0xc0) == 0x80)
      screen->typed.pop_back();
    if (!screen->typed.empty()) screen->typed.pop_back();
  } else if (key >= ' ' && key < 256) {
    screen->typed += char(key);
  }
}

// From 0 on, perhaps with other times.
void restart(Top& top, Screen* screen) {
  Status started = screen->ended ? Status() : top.start();
  screen->message = started.ok() ? "" : started.error().message();
}

void move(int key, size_t page, Screen* screen) {
  size_t step = key == kKeyPageUp || key == kKeyPageDown ? page : 1;
  if (key == kKeyUp || key == kKeyPageUp) {
    screen->first -= std::min(screen->first, step);
  } else {
    screen->first += step;
  }
}

// The next or the one before: of the sum and the processes.
void choose(int key, Top* top) {
  if (!top->processes.is_several()) return;
  const size_t count = top->processes.members().size() + 1;
  top->chosen = (top->chosen + (key == ']' ? 1 : count - 1)) % count;
}

void take_key(int key, Top& top, Screen* screen, Terminal& terminal) {
  if (screen->typing) return type(key, &top.view, screen);
  switch (key) {
    case 'q':
    case 3:  // Ctrl-C
      screen->quit = true;
      return;
    case 26:  // Ctrl-Z
      return terminal.suspend();
    case 't':
    case 'c':
    case 'a':
    case 'n':
      top.view.sort = TopSort(key);
      return;
    case 's':
      top.view.self_time = !top.view.self_time;
      return restart(top, screen);
    case 'r':
      return restart(top, screen);
    case 'i':
      top.view.by_recent = !top.view.by_recent;
      return;
    case 'p':
    case ' ':
      screen->paused = !screen->paused;
      return;
    case '[':
    case ']':
      return choose(key, &top);
    case '/':
      screen->typing = true;
      screen->typed.clear();
      return;
    case kKeyUp:
    case kKeyDown:
    case kKeyPageUp:
    case kKeyPageDown:
      return move(key, terminal.size().rows, screen);
    default:
      return;
  }
}

int show_screen(Top& top) {
  Result<std::unique_ptr<Terminal>> terminal = Terminal::open();
  if (!terminal.ok()) return fail("top", terminal.error());
  Screen screen;
  uint64_t delay_ns = uint64_t(top.options.delay * 1e9), next_ns = monotonic_ns() + delay_ns,
           looks = 0;
  LookPause pause(kFirstLookMs, kMostLookMs);
  int64_t next_search_ms = 0;
  while (!screen.quit && !(*terminal)->ended() && !interrupted()) {
    TracedChild* const child = top.processes.child();
    if (child && top.processes.wait(0) == TracedChild::Event::kStopRequested) break;
    if (!screen.ended && top.processes.ended()) {
      screen.ended = true;
      top.processes.begin_recent();
      top.processes.look();
    } else if (child && screen.ended && !top.processes.own().has_ended) {
      top.processes.look();  // it was about to exit
    }
    if (const int64_t began_ms = monotonic_ms(); began_ms >= next_search_ms) {
      top.processes.take_in_newcomers();
      pause.next(monotonic_ms() - began_ms);
      next_search_ms = monotonic_ms() + pause.ms();
    }
    if (monotonic_ns() >= next_ns) {
      next_ns = monotonic_ns() + delay_ns;
      if (!screen.paused && !screen.ended) {
        top.processes.begin_recent();
        top.processes.look();
      }
      if (top.options.looks != 0 && ++looks >= top.options.looks) screen.quit = true;
    }
    draw(top, screen, **terminal);
    uint64_t now = monotonic_ns(), left_ms = next_ns > now ? (next_ns - now) / 1000000 + 1 : 0;
    int key = (*terminal)->key(int(std::min<uint64_t>(left_ms, 250)), top.processes.descriptor());
    if (key != kKeyNone) take_key(key, top, &screen, **terminal);
  }
  return kOk;
}

int top(const TopOptions& options) {
  const bool for_files = options.once || options.json || !options.output.empty();
  const bool screen = !for_files && ::isatty(STDIN_FILENO) && ::isatty(STDOUT_FILENO);
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> own(nullptr, std::fclose);
  if (!options.output.empty()) {
    Result<std::FILE*> file = open_output_stream(options.output);
    if (!file.ok()) return fail("top", file.error());
    own.reset(*file);
  }
  TopProcesses processes(options);
  const bool has_several = processes.is_several();
  if (has_several) stop_on_interrupt();  // between two there is something to take back
  Status ready = processes.connect(screen, options.view.self_time);
  if (!ready.ok()) return fail("top", ready.error());
  if (!processes.child() && !has_several) stop_on_interrupt();
  if (!processes.child()) stop_on_closed_output();
  processes.deliver_signals();
  Top top{options, processes, options.view};
  if (!has_several) ready = top.start();
  if (ready.ok()) ready = processes.release();
  if (!ready.ok()) return fail("top", ready.error());
  run_time_begins();
  say_news(top);
  if (has_several && processes.members().empty()) {
    if (interrupted()) return fail("top", "no process was profiled.");
    remark("no process is " + processes.waits_for() + " yet: those that come are profiled");
  }
  const int status = screen ? show_screen(top) : print_tables(top, own ? own.get() : stdout);
  if (own)
    if (Status found = finish_output_stream(own.get(), options.output); !found.ok())
      return fail("top", found.error());
  say_news(top);
  for (const std::string& sentence : processes.take_about_executed())
    std::fprintf(stderr, "patchbay top: %s\n", printable(sentence).c_str());
  return status == kOk && processes.child() ? processes.exit_status() : status;
}

}  // namespace

constexpr CommandLine kTopLine = {
    .name = "top",
    .summary = "show the functions of a process by calls and time, live",
    .synopsis =
        "top [PID|NAME] [OPTION...]\n"
        "top -p PID,PID...|--all|--service NAME|--cgroup PATH|--exe GLOB [OPTION...]\n"
        "top [OPTION...] [--] CMD [ARG...]",
    .about = R"(Shows the functions of a running process, or of CMD, by calls and time. A process
that was started without the agent has it for as long as top runs. Of several
processes the counts of functions of one name are summed; so are those of the
programs that CMD executes in its place. The exit status is that of CMD, where top
has seen its end.

)",
    .options = {kProcessOptions, kOptions, kChosenProcessOptions},
    .after = R"(Keys: t c a n sort by time, calls, average, name; s switches to self time and
back; i sorts by what came since the last look; / sets a filter; p pauses; r counts
from 0; [ and ] show one process after the other, and the sum; up, down, page-up
and page-down scroll; q quits. Without a terminal tables
are printed one after another. The output of CMD is not shown in a terminal, and q
ends CMD, too.

Example: patchbay top --once -d 5 1234
)",
    .words = "PID",
    .order = CommandLine::Words::kLast,
    .attaches = true,
    .lasts = true,
};

int run_top(int argc, char** argv) {
  TopOptions options;
  int status = kOk;
  return parse_command_line(argc, argv, &options, &status) ? top(options) : status;
}

}  // namespace patchbay::cmd
