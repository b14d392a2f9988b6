// SPDX-License-Identifier: MIT
//
// patchbay calls: the calls of a program's functions as lines, while it runs.
//
//   connect, or start CMD, held before main()
//   an instance of our own
//   for each function: an event of its entry, a probe of its return; enabled there
//   let CMD run
//   read the rings (call_rings.h), pair entries and returns (open_calls.h), print (call_lines.h)
//   CMD executes another program: the same in that one (call_programs.h)
//   Ctrl-C or the end: what is left, calls that are open, the table
//   a process that goes on: our instance and events go
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/output_file.h"
#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/print_file.h"
#include "cmd/common/run_time.h"
#include "cmd/common/tracefs_command.h"
#include "cmd/measure/call_lines.h"
#include "cmd/measure/call_programs.h"
#include "cmd/target/preload.h"
#include "cmd/target/process_word.h"
#include "cmd/target/target_program.h"

namespace patchbay::cmd {
namespace {

constexpr int kIndent = kFirstOptionId, kErrorsOnly = kIndent + 1, kLonger = kIndent + 2,
              kStack = kIndent + 3, kFollow = kIndent + 4;
constexpr Option kOptions[] = {
    {.letter = 'e',
     .name = "event",
     .argument = "FUNC",
     .help = "shows the calls of a function: malloc, 'libfoo:parse*', 'ns::Class::*', or a "
             "declaration of C: 'int f(const char *name, long n)'",
     .more = "A glob means at most 1000 functions. A name's arguments and result are known from "
             "debug information, or from a file of prototypes; `patchbay probe --prototype FUNC` "
             "shows them. 'FUNC(TYPE NAME, ...)' is a function and its arguments, see "
             "patchbay(1). A function of a library that the program loads later is written "
             "'LIB:FUNC'.",
     .repeats = true},
    {.letter = 'p',
     .name = "pid",
     .argument = "PID",
     .help = "shows the calls of a running process, by its id or its name, in place of CMD"},
    {.letter = 'o',
     .name = "output",
     .argument = "FILE",
     .help = "writes FILE instead of standard error"},
    {.name = "indent",
     .help = "indents the calls that a call makes",
     .more = "A call that makes others has a line at its begin and one at its end. -t says the "
             "same.",
     .id = kIndent},
    {.letter = 'c',
     .name = "count",
     .help = "prints a table at the end, in place of lines: calls, errors and times of each "
             "function"},
    {.name = "errors-only",
     .help =
         "shows failed calls only: the result is -1, or a pointer that is NULL, or an exception "
         "has left the call",
     .id = kErrorsOnly},
    {.name = "longer",
     .argument = "TIME",
     .help = "shows calls only that took as long as TIME: 1ms, 20us, 0.5s",
     .id = kLonger},
    {.name = "stack",
     .help = "shows who has called, below each call",
     .more = "-k says the same, as in strace.",
     .id = kStack},
    {.name = "follow",
     .help = "waits in the programs that CMD executes for functions that CMD does not have",
     .more = "The programs that CMD executes in its place are followed in any case; those of its "
             "children are not.",
     .id = kFollow},
    {.letter = 't', .id = kIndent, .kind = Option::Kind::kOldSpelling},
    {.letter = 'k', .id = kStack, .kind = Option::Kind::kOldSpelling},
};

// --- command line

struct CallsOptions {
  CallTarget target;
  CallLineOptions lines;
  std::string output;
};

// Null when the option is right, else the sentence about it.
const char* take_option(int id, const std::string& value, CallsOptions* options) {
  switch (id) {
    case 'e':
      options->target.functions.push_back(value);
      return value.empty() ? "-e takes a function." : nullptr;
    case 'p':
      return take_pid(value.c_str(), &options->target.pid);
    case 'o':
      options->output = value;
      return value.empty() || value == "-" ? "-o takes a file; standard output is the program's."
                                           : nullptr;
    case kFollow:
      options->target.waits_for_functions = true;
      return nullptr;
    case kIndent:
      options->lines.indented = true;
      return nullptr;
    case 'c':
      options->lines.table = true;
      return nullptr;
    case kErrorsOnly:
      options->lines.errors_only = true;
      return nullptr;
    case kLonger:
      return parse_time(value, &options->lines.longer_ns) && options->lines.longer_ns > 0
                 ? nullptr
                 : "--longer takes a time with its unit: 1ms, 20us, 0.5s.";
    default:
      options->target.stacks = true;
      return nullptr;
  }
}

bool parse_command_line(int argc, char** argv, CallsOptions* options, int* status) {
  const auto take = [&](int id, const char* value) { return take_option(id, value, options); };
  if (const std::optional<int> ended = parse_options(kCallsLine, argc, argv, take))
    return *status = *ended, false;
  options->target.words.assign(argv + ::optind, argv + argc);
  const char* wrong = nullptr;
  if (options->target.words.empty() && options->target.pid == 0)
    wrong = "A program to run is missing, or -p PID.";
  if (!options->target.words.empty() && options->target.pid != 0)
    wrong = "A process or a program to run is needed, not both.";
  if (options->target.waits_for_functions && options->target.pid != 0)
    wrong = "--follow is about a program that is started, not -p.";
  if (wrong) *status = usage_error("calls", wrong);
  return wrong == nullptr;
}

// What the program brings along, as a tree.
Status choose_own_functions(CallsOptions* options) {
  CallTarget& target = options->target;
  std::string exe;
  if (target.pid == 0) {
    PB_ASSIGN(const std::vector<std::string> words, words_to_run(target.words));
    PB_ASSIGN(const std::string program, find_program(words[0]));
    std::error_code none;
    exe = std::filesystem::canonical(program, none).string();
  } else {
    exe = exe_of(target.pid);
  }
  target.functions = {std::string(base_name(exe)) + ":*"};
  target.is_own_code = true;
  options->lines.indented = !options->lines.table;
  return {};
}

// --- the output

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

class Output {
 public:
  Status open(const std::string& path) {
    path_ = path;
    if (path.empty()) return {};
    PB_ASSIGN(file_, open_output_stream(path));
    owned_.reset(file_);
    return {};
  }
  std::FILE* file() const { return file_; }
  Status finish() const { return owned_ ? finish_output_stream(owned_.get(), path_) : Status(); }
  // Writes what is there, and empties it.
  Status write(std::string* text) {
    const bool is_written = std::fwrite(text->data(), 1, text->size(), file_) == text->size() &&
                            std::fflush(file_) == 0;
    text->clear();
    if (is_written) return {};
    return sys_error("write " + (path_.empty() ? "standard error" : path_), errno);
  }

 private:
  std::string path_;
  std::FILE* file_ = stderr;
  std::unique_ptr<std::FILE, CloseFile> owned_;
};

// Of what the first program does not have.
Error with_hint(const Error& error, const CallTarget& target) {
  if (error.errno_value != ENOENT || target.words.empty()) return error;
  return user_error(
      ENOENT, error.message() + "\n(--follow waits for it in the programs that are executed)");
}

int calls(CallsOptions options) {
  Output output;
  Status ready = output.open(options.output);
  if (ready.ok() && options.target.functions.empty()) ready = choose_own_functions(&options);
  if (!ready.ok()) return fail("calls", ready.error());
  options.lines.color = use_color(output.file());
  // A stack and the depth are those of an entry, and so is the time of a recursion.
  options.target.failures_alone = options.lines.errors_only && !options.lines.indented &&
                                  !options.target.stacks && !options.lines.table;
  options.target.needs_begin = options.lines.indented || options.target.stacks;
  options.target.longer_ns = options.lines.longer_ns;
  CallPrograms programs(options.target, options.lines,
                        [&output](std::string* text) { return output.write(text); });
  ready = programs.begin();
  if (!ready.ok()) return fail("calls", with_hint(ready.error(), options.target));
  const Status written = programs.run();
  const bool has_all = !written.ok() || programs.print_notes();
  const int status = programs.end();
  if (!written.ok()) return fail("calls", written.error());
  if (const Status found = output.finish(); !found.ok()) return fail("calls", found.error());
  return status == kOk && !has_all ? kFailed : status;
}

}  // namespace

constexpr CommandLine kCallsLine = {
    .name = "calls",
    .summary = "show calls of functions while a program runs",
    .synopsis =
        "calls [-e FUNC...] [OPTION...] [--] CMD [ARG...]\n"
        "calls [-e FUNC...] [OPTION...] -p PID",
    .about = R"(Runs CMD, or looks at a running process until Ctrl-C, and prints a line for each
call of a function when it returns: its arguments, its result and how long it took.
The lines go to standard error. Without -e they are the calls of the program's own
functions, each below the one that made it; `patchbay ./prog` says the same. Where
CMD executes another program in its place, as sh -c 'exec ls' does, the calls of that
one follow.

)",
    .options = {kOptions},
    .after = R"(The exit status is that of CMD.
Example: patchbay calls -e fopen -e getenv -- ls /
)",
    .words = "CMD",
    .order = CommandLine::Words::kLast,
    .attaches = true,
    .lasts = true,
};

int run_calls(int argc, char** argv) {
  CallsOptions options;
  int status = kOk;
  if (!parse_command_line(argc, argv, &options, &status)) return status;
  return calls(std::move(options));
}

}  // namespace patchbay::cmd
