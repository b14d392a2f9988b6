// SPDX-License-Identifier: MIT
//
// patchbay record of a program that cannot take the agent: static, Go, musl, 32 bits. The kernel's
// uprobes bring the same events, with a trap each.
//
//   the program's files and symbols ---- refuse what uprobes have no form for
//   lock the output; instance and events in the kernel's tracefs
//   start it, held before exec; or look for the threads of a running one
//   enable; read the rings until it ends or Ctrl-C
//   remove all that; write trace.dat, say what is in it
#include "cmd/record/record_uprobes.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/monotonic_clock.h"
#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/run_time.h"
#include "cmd/record/patched_places.h"
#include "cmd/record/record_report.h"
#include "cmd/record/recording.h"
#include "cmd/target/leftovers.h"
#include "cmd/target/nothing_recorded.h"
#include "cmd/target/probe_source.h"
#include "cmd/target/prototypes.h"
#include "cmd/target/target_program.h"
#include "uprobes/kernel_tracefs.h"
#include "uprobes/uprobe_event.h"
#include "uprobes/uprobe_program.h"
#include "uprobes/uprobe_recording.h"

namespace patchbay::cmd {
namespace {

constexpr uint64_t kDefaultKbOfAllCpus = 256 * 1024, kDefaultKb = 8192, kSmallestKb = 1408;
constexpr int kGraceMs = 300;  // between Ctrl-C and the file: the program may end first

// --- what has no translation

Error no_form(const std::string& what) {
  return user_error(EOPNOTSUPP, what + " is the agent's, and uprobes have no form for it");
}

Status check_request(const TraceRequest& request) {
  if (request.instances().size() > 1) return no_form("-B (an instance)");
  const InstanceRequest& top = request.instances().front();
  if (top.traces())
    return user_error(EOPNOTSUPP, "-t " + top.tracer +
                                      " patches every function, which takes the agent; uprobes "
                                      "record the functions that -e names");
  if (!top.clock.empty()) return no_form("-C (a clock; uprobes have CLOCK_MONOTONIC)");
  if (!top.options.empty()) return no_form("-O (a word of trace_options)");
  if (top.events.empty())
    return user_error(EINVAL, "uprobes record what -e names: -e 'FUNC(ARGS)' or -e 'p:NAME PLACE'");
  return {};
}

// --- events

using Lines = std::vector<std::string>;

Result<Lines> derived_lines(const EventRequest& event, const UprobeProgram& program) {
  PB_ASSIGN(const DerivedProbe probe, derive_probe(program.paths(), event.text));
  print_probe_notes(probe.notes);
  return probe.definitions(probe.event);
}

// FUNC(*): function events, or a probe where some arguments are beyond these.
Result<Lines> expanded_lines(const EventRequest& event, const UprobeProgram& program) {
  if (program.main_object().is_go)
    return user_error(EOPNOTSUPP,
                      "FUNC(*) knows how C and C++ pass arguments, and not how Go does: name them, "
                      "'main.work(int n, string name)'");
  if (program.main_object().file.is_32_bit)
    return user_error(EOPNOTSUPP,
                      "the debug information of 32-bit programs is not read: name the arguments");
  PB_ASSIGN(const FunctionEventLines found,
            expand_function_event(program.paths(), event.text, false));
  print_probe_notes(found.notes);
  print_probe_notes(found.beyond);
  return found.lines;
}

// A name alone: the function with the arguments that its debug information knows, or a file of
// prototypes; else its calls alone.
Result<Lines> named_lines(const EventRequest& event, const UprobeProgram& program) {
  const std::string& name = event.text;
  if (name.find_first_of("*?[") != name.npos)
    return user_error(EOPNOTSUPP, "globs are for the agent; with uprobes each function is named");
  Result<UprobePlace> place = program.find(name, 0, false);
  if (!place.ok())
    return user_error(ENOENT, place.error().message() +
                                  "\n(events that a program brings are the agent's; with uprobes "
                                  "it is -e FUNC, -e 'FUNC(ARGS)' or -e 'p:NAME PLACE ARG')");
  const UprobeObject& object = *place->object;
  if (!object.is_go && !object.file.is_32_bit) {
    const Prototype prototype =
        Prototypes(program.paths()).of(name, std::string(base_name(object.name)));
    print_probe_notes(prototype.notes);
    if (prototype.source != Prototype::Source::kNone) return prototype.lines;
  }
  remark("the arguments of " + name + "() are not known here; name them: -e '" + name +
         "(int n, string text)'");
  return Lines{name + "()"};
}

Result<std::unique_ptr<UprobeEvent>> make_event(const std::string& line, bool is_function,
                                                UprobeProgram& program) {
  return is_function ? UprobeEvent::of_function(line, program)
                     : UprobeEvent::of_probe(line, program);
}

Status define_event(const EventRequest& event, UprobeRecording& recording, PatchedPlaces* patched) {
  UprobeProgram& program = recording.program();
  const EventRequest::Kind kind = event.kind();
  const bool is_named = kind == EventRequest::Kind::kEvent;
  const bool is_function = is_named || kind == EventRequest::Kind::kFunction;
  Result<Lines> lines = Lines{event.text};
  if (is_named) lines = named_lines(event, program);
  if (is_function && event.text.ends_with("(*)")) lines = expanded_lines(event, program);
  if (kind == EventRequest::Kind::kSource) lines = derived_lines(event, program);
  if (!lines.ok())
    return user_error(lines.error().errno_value,
                      "-e '" + event.text + "': " + lines.error().message());
  for (const std::string& line : *lines) {
    Result<std::unique_ptr<UprobeEvent>> made = make_event(line, is_function, program);
    // A prototype may say what uprobes have no form for: a double.
    if (!made.ok() && is_named) {
      remark("the arguments of " + event.text + "() are left out: " + made.error().message());
      made = make_event(event.text + "()", true, program);
    }
    if (!made.ok())
      return user_error(made.error().errno_value,
                        "-e '" + event.text + "':\n" + made.error().message());
    const UprobePlace& place = (*made)->place;
    PB_TRY(patched->check(place.object->path, place.site.file_offset, place.object->file.is_32_bit,
                          "-e '" + event.text + "'"));
    if (!event.filter.empty()) PB_TRY((*made)->set_filter(event.filter, program.symbols()));
    PB_TRY(recording.define(std::move(*made)));
  }
  return {};
}

// --- the session

struct Session {
  Result<std::unique_ptr<OutputLock>> lock = std::unique_ptr<OutputLock>();
  std::unique_ptr<UprobeProgram> program;
  std::unique_ptr<UprobeRecording> recording;
  std::unique_ptr<TracedChild> child;  // null: a running process
  UniqueFd signals, process;
  pid_t pid = 0;
  std::string exe;
  bool stopped = false;  // by a signal
};

// The words to run, and the ELF file that they lead to.
Result<std::vector<std::string>> words_and_file(const RecordOptions& options, std::string* file) {
  Result<std::string> program = find_program(options.words[0]);
  if (!program.ok()) return program.error();
  std::vector<std::string> words = without_env(*program, options.words);
  if (words[0] != options.words[0]) program = find_program(words[0]);
  if (!program.ok()) return program.error();
  program = elf_file_to_run(*program);
  if (!program.ok()) return program.error();
  *file = *program;
  return words;
}

Result<std::unique_ptr<UprobeProgram>> open_program(const RecordOptions& options) {
  if (options.pid) return UprobeProgram::of_process(options.pid);
  std::string file;
  Result<std::vector<std::string>> words = words_and_file(options, &file);
  if (!words.ok()) return words.error();
  return UprobeProgram::of_file(file);
}

std::vector<pid_t> threads_asked_for(const RecordOptions& options) {
  std::vector<pid_t> threads;
  for (const std::string& tid : options.request.instances().front().tids)
    threads.push_back(std::atoi(tid.c_str()));
  return threads;
}

Status follow(const RecordOptions& options, Session* session) {
  const std::vector<pid_t> threads = threads_asked_for(options);
  if (!threads.empty()) return session->recording->rings().follow(threads, false);
  if (options.pid) return session->recording->rings().follow_process(options.pid);
  return session->recording->rings().follow({session->pid}, true);
}

Status prepare(const RecordOptions& options, Session* session) {
  if (!is_first_pid_namespace())
    return user_error(EOPNOTSUPP,
                      "the kernel's uprobes choose a process by its number on the host, which is "
                      "not known in this container: record it from outside, with record --uprobes "
                      "-p PID");
  session->lock = OutputLock::take(options.output);
  if (!session->lock.ok()) return session->lock.error();
  if (options.pid) {
    session->signals = watch_signals();
    session->process.reset(int(::syscall(SYS_pidfd_open, options.pid, 0)));
    if (!session->process.valid())
      return sys_error("open process " + std::to_string(options.pid), errno);
    session->pid = options.pid;
    session->exe = exe_of(options.pid);
  } else {
    std::string file;
    PB_ASSIGN(const std::vector<std::string> words, words_and_file(options, &file));
    PB_ASSIGN(session->child, TracedChild::start_held(words));
    session->pid = session->child->pid();
  }
  const InstanceRequest& top = options.request.instances().front();
  UprobeOptions wanted{options.output, options.version, std::max(options.buffer_kb, top.buffer_kb),
                       options.overwrite};
  const uint64_t cpus = uint64_t(std::max(::sysconf(_SC_NPROCESSORS_CONF), 1L));
  if (!wanted.buffer_kb)
    wanted.buffer_kb = std::clamp(kDefaultKbOfAllCpus / cpus, kSmallestKb, kDefaultKb);
  PB_ASSIGN(session->recording, UprobeRecording::open(wanted, *session->program));
  PatchedPlaces patched;
  for (const EventRequest& event : top.events)
    PB_TRY(define_event(event, *session->recording, &patched));
  PB_TRY(follow(options, session));
  PB_TRY(session->recording->start());
  run_time_begins();
  if (session->child) PB_TRY(session->child->let_go());
  session->recording->note_thread(uint32_t(session->pid));
  (*session->lock)->keep();
  return {};
}

void record_child(Session* session) {
  for (int wait_ms = 1;;) {
    wait_ms = next_wait_ms(session->recording->drain(), wait_ms);
    const TracedChild::Event event = session->child->wait(wait_ms);
    if (event == TracedChild::Event::kExited) return;
    if (event == TracedChild::Event::kStopRequested) break;
  }
  session->recording->stop();
  TracedChild& child = *session->child;
  for (int64_t end = monotonic_ms() + kGraceMs; monotonic_ms() < end && !child.exited();)
    (void)child.wait(10);
  session->stopped = !child.exited();
}

void record_running(Session* session) {
  for (int wait_ms = 1; !session->stopped;) {
    wait_ms = next_wait_ms(session->recording->drain(), wait_ms);
    pollfd polled[] = {{session->signals.get(), POLLIN, 0}, {session->process.get(), POLLIN, 0}};
    (void)::poll(polled, 2, wait_ms);
    session->stopped = polled[0].revents;
    if (polled[1].revents) return;
  }
}

// --- afterwards

void print_summary(const UprobeRecording& recording, const TraceDatResult& result,
                   const std::string& output) {
  std::string per_cpu;
  for (size_t cpu = 0; cpu < recording.counts().size(); cpu++)
    per_cpu += (cpu ? ", cpu" : "cpu") + std::to_string(cpu) + " " +
               std::to_string(recording.counts()[cpu].lost);
  const uint64_t events = recording.nr_events() - result.events_lost, lost = recording.nr_lost();
  note(std::to_string(events) + " events, " + size_text(result.bytes) + " in " +
       (result.moved_to.empty() ? output : result.moved_to) + "; lost " + std::to_string(lost) +
       " (" + per_cpu + ")");
  if (lost > (events + lost) / 100)
    note("the buffer of a CPU (" + size_text(recording.ring_bytes()) +
         ") was full: give it more (-b), or record less");
}

void print_notes(const RecordOptions& options, const Session& session) {
  const UprobeRecording& recording = *session.recording;
  std::vector<EventCall> calls;
  std::vector<RecordedModule> modules;
  for (const auto& event : recording.events()) calls.push_back(event->call);
  for (const auto& object : session.program->objects()) modules.push_back(object->module);
  const auto records_of = [&](uint16_t id) { return recording.events_of(id); };
  if (recording.nr_lost() == 0)
    for (const std::string& sentence :
         why_nothing(without_records(options.request, calls, records_of), modules,
                     session.program->main_object().path))
      note(sentence);
  if (recording.has_others(session.pid)) note("processes that it has started are in the file, too");
  const std::string name = "process " + std::to_string(session.pid);
  if (session.child && session.stopped)
    note("recording has stopped; the program goes on as " + name);
  if (session.child) return;
  const std::string now = exe_of(session.pid);
  if (!session.stopped)
    note(name + " has ended");
  else if (!now.empty() && now != session.exe)
    note(name + " has executed " + one_line(now) + ", which is not recorded");
  else
    note("recording has stopped; " + name + " goes on");
}

int finish(const RecordOptions& options, Session* session) {
  Result<TraceDatResult> result = session->recording->finish(session->pid);
  if (!result.ok()) return fail(options.command, result.error());
  const uint64_t events = session->recording->nr_events();
  const bool is_whole = result->events_lost == 0 && result->pages_lost == 0;
  const bool saved = report_place(options.command, *result, options.output) && is_whole;
  if (!is_whole)
    fail(options.command,
         options.output + ": " + std::strerror(result->error ? result->error : EIO) + "; " +
             std::to_string(events - result->events_lost) + " events are saved in it, " +
             std::to_string(result->events_lost) + " are not.");
  if (!options.quiet) print_summary(*session->recording, *result, options.output);
  if (!options.quiet) print_notes(options, *session);
  return saved ? kOk : kFailed;
}

int run(const RecordOptions& options, std::unique_ptr<UprobeProgram> program) {
  Session session;
  session.program = std::move(program);
  if (Status ready = prepare(options, &session); !ready.ok()) {
    session.recording.reset();
    return fail(options.command, ready.error());
  }
  if (session.child)
    record_child(&session);
  else
    record_running(&session);
  int status = finish(options, &session);
  session.recording.reset();
  while (session.child && !session.child->exited()) (void)session.child->wait(-1);
  session.lock = std::unique_ptr<OutputLock>();
  if (options.print && status == kOk) status = print_report(options);
  return session.child && session.child->exit_status() != 0 ? session.child->exit_status() : status;
}

// What is said first.
void say_what_it_costs(const RecordOptions& options, const UprobeProgram& program, bool was_asked) {
  if (options.quiet) return;
  const std::string what = program.what_it_is();
  std::string sentence = "the kernel's uprobes are used, about 1 to 10 us an event";
  if (!was_asked)
    sentence =
        (options.pid ? "process " + std::to_string(options.pid) : program.main_object().path) +
        " cannot take the agent" + (what.empty() ? "" : " (" + what + ")") + ": " + sentence;
  if (program.main_object().is_go) sentence += "; of Go functions only the entries";
  remark(sentence);
}

// The agent's refusal, and why uprobes do not help.
int fail_both(const RecordOptions& options, const Error* refusal, const Error& reason) {
  if (!refusal) return fail(options.command, reason);
  std::string sentence = refusal->message();
  if (!sentence.ends_with('.')) sentence += '.';
  return fail(options.command,
              sentence + "\nThe kernel's uprobes cannot be used instead: " + reason.message());
}

}  // namespace

std::optional<int> record_by_uprobes(const RecordOptions& options, const Error* refusal) {
  if (refusal && (options.uprobes == RecordOptions::Uprobes::kNever || options.prepare))
    return std::nullopt;
  Result<std::unique_ptr<UprobeProgram>> program = open_program(options);
  if (!program.ok() && refusal) return std::nullopt;  // it is no program for this machine
  // Other reasons (other rights, a sanitizer) are the program's, and somebody has to ask for it.
  if (refusal && (*program)->what_it_is().empty()) return std::nullopt;
  if (!program.ok()) return fail(options.command, program.error());
  Status possible = check_request(options.request);
  if (possible.ok() && !options.kernel_events.empty())
    possible = no_form("-k (events of the kernel beside the program's)");
  if (possible.ok()) {
    Result<TracefsDirectory> tracefs = open_kernel_tracefs(KernelUse::kUprobes);
    if (!tracefs.ok()) possible = tracefs.error();
  }
  if (!possible.ok()) return fail_both(options, refusal, possible.error());
  say_what_it_costs(options, **program, refusal == nullptr);
  return run(options, std::move(*program));
}

}  // namespace patchbay::cmd
