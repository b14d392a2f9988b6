// SPDX-License-Identifier: MIT
//
// patchbay calls: the calls of a program's functions as lines, while it runs.
//
//   connect, or start CMD, held before main()
//   an instance of our own
//   for each function: an event of its entry, a probe of its return; enabled there
//   let CMD run
//   read the rings (call_rings.h), pair entries and returns (open_calls.h), print (call_lines.h)
//   Ctrl-C or the end: what is left, calls that are open, the table
//   a process that goes on: our instance and events go
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/print_file.h"
#include "cmd/common/tracefs_command.h"
#include "cmd/measure/call_lines.h"
#include "cmd/measure/call_rings.h"
#include "cmd/measure/call_session.h"

namespace patchbay::cmd {
namespace {

constexpr int kIndent = kFirstOptionId, kErrorsOnly = kIndent + 1, kLonger = kIndent + 2,
              kStack = kIndent + 3;
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
     .help = "shows the calls of a running process, in place of CMD"},
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
    {.letter = 't', .id = kIndent, .kind = Option::Kind::kOldSpelling},
    {.letter = 'k', .id = kStack, .kind = Option::Kind::kOldSpelling},
};

// --- command line

struct CallsOptions {
  CallTarget target;
  CallLineOptions lines;
  std::string output;
};

// "1ms", "0.5s".
bool parse_time(std::string_view text, uint64_t* ns) {
  struct Unit {
    std::string_view name;
    double ns;
  };
  constexpr Unit kUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  constexpr double kMost = 1e6 * 1e9;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  const std::string_view unit = text.substr(size_t(end - text.data()));
  for (const Unit& one : kUnits) {
    if (unit != one.name || !(value > 0) || value * one.ns > kMost) continue;
    *ns = std::max(uint64_t(value * one.ns), uint64_t{1});
    return true;
  }
  return false;
}

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
      return parse_time(value, &options->lines.longer_ns)
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
  if (options->target.functions.empty()) wrong = "At least one -e FUNC is needed.";
  if (options->target.words.empty() && options->target.pid == 0)
    wrong = "A program to run is missing, or -p PID.";
  if (!options->target.words.empty() && options->target.pid != 0)
    wrong = "A process or a program to run is needed, not both.";
  if (wrong) *status = usage_error("calls", wrong);
  return wrong == nullptr;
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
    owned_.reset(std::fopen(path.c_str(), "we"));
    if (!owned_) return sys_error("write " + path, errno);
    file_ = owned_.get();
    return {};
  }
  std::FILE* file() const { return file_; }
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

// Whether a byte of a thread's memory can be read.
bool can_read(int32_t tid, uint64_t address) {
  char byte = 0;
  const iovec to{&byte, 1};
  const iovec from{reinterpret_cast<void*>(address), 1};
  return ::process_vm_readv(tid, &to, 1, &from, 1, 0) == 1;
}

// --- while it runs

constexpr size_t kPiece = 1 << 16;  // is written when so much is there
constexpr int kFastestMs = 1, kSlowestMs = 20;

class Watch {
 public:
  Watch(const CallsOptions& options, CallSession* session, CallRings* rings, Output* output)
      : session_(*session),
        rings_(*rings),
        output_(*output),
        names_(session->names()),
        addresses_(&names_, true),
        context_{&addresses_,
                 [session](int32_t tid, uint64_t address) {
                   // What a program that has ended had in its files is known.
                   return session->is_in_module(address) || can_read(tid, address);
                 }},
        lines_(options.lines, session->texts(), context_, &caught_),
        calls_(&lines_),
        is_table_(options.lines.table) {
    caught_.use(session->caught());
  }

  // Until the end of the process, or until we are told to end.
  Status run();
  uint64_t calls() const { return lines_.calls(); }
  uint64_t entered() const { return lines_.entered(); }
  uint64_t lost() const { return lost_; }
  bool lost_some() const { return lost_some_; }

 private:
  Status take_events(bool is_end);
  void take(const MergedEvent& event);
  void take_stack(int32_t tid, std::span<const uint8_t> record);
  void take_whole(int32_t tid, uint64_t ns, uint32_t function, std::span<const uint8_t> record);
  void end_if_not_hooked(int32_t tid);
  bool is_other_name(int32_t tid, uint32_t function, uint64_t caller,
                     std::span<const uint8_t> record);

  CallSession& session_;
  CallRings& rings_;
  Output& output_;
  AddressNames names_;
  AddressText addresses_;
  const CallTextContext context_;
  CaughtExceptions caught_;
  CallLines lines_;
  OpenCalls calls_;
  const bool is_table_;
  std::unordered_map<int32_t, bool> at_entry_;  // by thread: its last event was an entry
  struct WholeCall {
    uint32_t function;
    uint64_t place, duration;
  };
  std::unordered_map<int32_t, WholeCall> last_whole_;  // by thread
  uint64_t last_ns_ = 0, lost_ = 0;
  bool lost_some_ = false;
};

// A stack ends with its record, with a word of ones, or with a 0 behind its first frame.
void Watch::take_stack(int32_t tid, std::span<const uint8_t> record) {
  LiveCall* const call = calls_.innermost(tid);
  if (!call || !std::exchange(at_entry_[tid], false)) return;
  constexpr size_t kCount = 8, kFrames = 16;
  uint32_t most = 0;
  if (record.size() >= kFrames) std::memcpy(&most, record.data() + kCount, sizeof most);
  for (size_t at = kFrames; at + 8 <= record.size() && most > 0; at += 8, most--) {
    uint64_t frame = 0;
    std::memcpy(&frame, record.data() + at, sizeof frame);
    if (frame == ~uint64_t{0} || frame == 0) break;
    call->stack.push_back(frame);
  }
  // The first is the function itself.
  if (!call->stack.empty()) call->stack.erase(call->stack.begin());
  end_if_not_hooked(tid);
}

// A call whose return is not seen ends as it begins, with its stack if there is one.
void Watch::end_if_not_hooked(int32_t tid) {
  const LiveCall* const call = calls_.innermost(tid);
  if (call && !session_.texts()[call->function].has_return())
    calls_.end_not_hooked(tid, call->start_ns);
}

// One call of a function that has several names (open, open64) has an entry for each that was asked
// for. The first one counts; the returns of the others find no call.
bool Watch::is_other_name(int32_t tid, uint32_t function, uint64_t caller,
                          std::span<const uint8_t> record) {
  const LiveCall* const call = calls_.innermost(tid);
  if (!call || call->function == function || call->caller != caller) return false;
  const std::span<const uint8_t> first(reinterpret_cast<const uint8_t*>(call->record.data()),
                                       call->record.size());
  return session_.texts()[call->function].place_of_entry(first) ==
         session_.texts()[function].place_of_entry(record);
}

// Here, too, a function may have several names; the events of one call have the same duration.
void Watch::take_whole(int32_t tid, uint64_t ns, uint32_t function,
                       std::span<const uint8_t> record) {
  const CallText& text = session_.texts()[function];
  const WholeCall call{function, text.place_of_entry(record), text.duration_of_whole(record)};
  const auto [last, is_new] = last_whole_.try_emplace(tid, call);
  const bool is_other_name = !is_new && last->second.function != function &&
                             last->second.place == call.place &&
                             last->second.duration == call.duration;
  if (is_other_name) return;
  last->second = call;
  calls_.whole(tid, ns, call.duration, function, record);
}

void Watch::take(const MergedEvent& event) {
  if (event.lost_before != 0) {
    lines_.lost(event.lost_before);
    lost_some_ |= event.lost_before == kLostUnknown;
    if (event.lost_before != kLostUnknown) lost_ += event.lost_before;
    calls_.lose(event.ns);
  }
  last_ns_ = std::max(last_ns_, event.ns);
  if (event.record.size() < sizeof(abi::RecordHeader)) return;
  abi::RecordHeader header{};
  std::memcpy(&header, event.record.data(), sizeof header);
  const CallSession::EventKind kind = session_.kind_of(header.common_type);
  const int32_t tid = header.common_pid;
  using What = CallSession::EventKind::What;
  if (kind.what == What::kStack) return take_stack(tid, event.record);
  if (kind.what == What::kOther) return;
  // A stack that does not come is lost.
  if (session_.has_stacks() && std::exchange(at_entry_[tid], false)) end_if_not_hooked(tid);
  if (kind.what == What::kCaught)
    return calls_.catch_at(tid, event.ns, caught_.stack_of(event.record),
                           caught_.object_of(event.record), event.record);
  if (kind.what == What::kThrown) {
    const auto [stack, object] = session_.thrown(event.record);
    return calls_.throw_at(tid, event.ns, stack, object);
  }
  if (kind.what == What::kWhole) return take_whole(tid, event.ns, kind.function, event.record);
  const CallText& text = session_.texts()[kind.function];
  const bool is_entry = kind.what == What::kEntry;
  if (!is_entry) {
    (void)calls_.leave(tid, event.ns, kind.function, text.caller_of_return(event.record),
                       event.record);
    return;
  }
  const uint64_t caller = text.caller_of_entry(event.record);
  if (is_other_name(tid, kind.function, caller, event.record)) return;
  calls_.enter(tid, event.ns, kind.function, caller, text.stack_of_entry(event.record),
               event.record);
  if (session_.has_stacks())
    at_entry_[tid] = true;
  else
    end_if_not_hooked(tid);
}

Status Watch::take_events(bool is_end) {
  rings_.look(is_end);
  MergedEvent event;
  while (rings_.next(&event)) {
    take(event);
    if (lines_.out()->size() >= kPiece) PB_TRY(output_.write(lines_.out()));
  }
  if (is_end) {
    calls_.finish(last_ns_);
    if (is_table_) *lines_.out() += lines_.table();
  }
  if (!lines_.out()->empty()) PB_TRY(output_.write(lines_.out()));
  return {};
}

Status Watch::run() {
  for (int wait_ms = kFastestMs;;) {
    PB_TRY(take_events(false));
    wait_ms = rings_.was_busy() ? kFastestMs : std::min(2 * wait_ms, kSlowestMs);
    if (session_.wait(wait_ms)) break;
  }
  session_.stop();
  return take_events(true);
}

// --- afterwards

void say(const std::string& sentence) {
  std::fprintf(stderr, "patchbay calls: %s\n", printable(sentence).c_str());
}

void print_notes(const Watch& watch, CallSession& session, const CallRings& rings) {
  if (watch.lost() > 0 || watch.lost_some())
    say(std::string(watch.lost_some() ? "at least " : "") + std::to_string(watch.lost()) +
        " events were lost: the program was faster than its lines could be written");
  if (const uint64_t missed = rings.rings().missed())
    say(std::to_string(missed) + " hits could not be recorded");
  if (const uint64_t unhooked = rings.rings().unhooked())
    say(std::to_string(unhooked) +
        " calls have no return: their callers' code walks its own stack by return addresses "
        "(code made at run time, V8, OCaml, Go)");
  const std::vector<std::string> never_came = session.never_came(rings.top());
  for (const std::string& sentence : never_came) say(sentence);
  if (watch.calls() == 0 && session.is_filtered())
    say("there was no call that --errors-only shows");
  else if (watch.entered() == 0 && never_came.empty())
    for (const std::string& sentence : session.why_nothing()) say(sentence);
  else if (watch.calls() == 0 && watch.entered() > 0)
    say("none of " + std::to_string(watch.entered()) +
        " calls is one that --errors-only or --longer shows");
  session.say_end();
}

int calls(CallsOptions options) {
  Output output;
  Status ready = output.open(options.output);
  if (!ready.ok()) return fail("calls", ready.error());
  options.lines.color = use_color(output.file());
  // A stack and the depth are those of an entry, and so is the time of a recursion.
  options.target.failures_alone = options.lines.errors_only && !options.lines.indented &&
                                  !options.target.stacks && !options.lines.table;
  options.target.needs_begin = options.lines.indented || options.target.stacks;
  options.target.longer_ns = options.lines.longer_ns;
  CallSession session(options.target);
  std::unique_ptr<CallRings> rings;
  ready = session.prepare(&rings);
  if (ready.ok()) ready = session.release();
  if (!ready.ok()) return fail("calls", ready.error());
  Watch watch(options, &session, rings.get(), &output);
  const Status written = watch.run();
  if (written.ok()) print_notes(watch, session, *rings);
  const int status = session.end();
  if (!written.ok()) return fail("calls", written.error());
  return status;
}

}  // namespace

constexpr CommandLine kCallsLine = {
    .name = "calls",
    .summary = "show calls of functions while a program runs",
    .synopsis =
        "calls -e FUNC... [OPTION...] [--] CMD [ARG...]\n"
        "calls -e FUNC... [OPTION...] -p PID",
    .about = R"(Runs CMD, or looks at a running process until Ctrl-C, and prints a line for each
call of a function when it returns: its arguments, its result and how long it took.
The lines go to standard error.

)",
    .options = {kOptions},
    .after = R"(The exit status is that of CMD.
Example: patchbay calls -e fopen -e getenv -- ls /
)",
    .words = "CMD",
    .order = CommandLine::Words::kLast,
};

int run_calls(int argc, char** argv) {
  CallsOptions options;
  int status = kOk;
  if (!parse_command_line(argc, argv, &options, &status)) return status;
  return calls(std::move(options));
}

}  // namespace patchbay::cmd
