// SPDX-License-Identifier: MIT
//
// patchbay record: runs a program with the agent and writes what its functions were called with.
//
//   look at the program ---- refuse what cannot take the agent
//   lock the output     ---- an unwritable place is an error before anything runs
//   start it, held in the agent's constructor
//   write the definitions, enable them -- a mistake ends here: main() never ran
//   release it; take its sub-buffers until it ends or Ctrl-C
//   write trace.dat, say what is in it, pass the program's status on
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "base/memory_room.h"
#include "base/monotonic_clock.h"
#include "cmd/common/commands.h"
#include "cmd/common/run_time.h"
#include "cmd/common/tracefs_command.h"
#include "cmd/record/followed.h"
#include "cmd/record/record.h"
#include "cmd/record/record_report.h"
#include "cmd/record/record_uprobes.h"
#include "cmd/target/apply_request.h"
#include "cmd/target/inside_ids.h"
#include "cmd/target/leftovers.h"
#include "cmd/target/preload.h"
#include "cmd/target/request_options.h"
#include "cmd/target/target_program.h"
#include "cmd/target/traced_child.h"
#include "serve/client.h"
#include "serve/directory.h"
#include "serve/peer_watch.h"

namespace patchbay::cmd {
namespace {

constexpr uint64_t kDefaultKbOfAllCpus = 256 * 1024;
constexpr uint64_t kDefaultKb = 8 * 1024, kSmallestDefaultKb = 1408;
constexpr int kMode = kFirstOptionId, kFormat = kFirstOptionId + 1, kPrint = kFirstOptionId + 2;
constexpr int kUprobes = kFirstOptionId + 3, kNoUprobes = kFirstOptionId + 4;
constexpr int kAllTasks = kFirstOptionId + 5, kFollow = kFirstOptionId + 6;
constexpr int kFollowOnly = kFirstOptionId + 7, kNoFollow = kFirstOptionId + 8;
constexpr int kGraceMs = 300;  // between Ctrl-C and the file: the program may end first

// --- command line

constexpr Option kOptions[] = {
    {.letter = 'p',
     .name = "pid",
     .argument = "PID",
     .help = "records a running process, by its id or its name, in place of CMD; PID alone does "
             "the same; several, as -p A -p B, -p A,B or all of a name, are recorded in one file",
     .more = "Events that a process does not have are left out there, and said at the end. "
             "The recording ends with the last of them; report --processes lists them all. Of a "
             "process in a container the file has the numbers of this machine; report --processes "
             "shows the one inside, too.",
     .group = "The process and the file",
     .repeats = true},
    {.name = "all",
     .help = "records each process that has an agent now, in one file",
     .id = kAllId},
    {.name = "service",
     .argument = "NAME",
     .help = "records the processes of a service of systemd, and those that come to it",
     .more = "They are those of its control group. One that cannot be recorded is listed with the "
             "reason. The recording goes on until Ctrl-C, or until the control group is removed.",
     .repeats = true,
     .id = kServiceId},
    {.name = "cgroup",
     .argument = "PATH",
     .help = "records the processes of a control group and of those below it, as --service does",
     .more = "PATH is a directory below /sys/fs/cgroup, whose beginning may be left out.",
     .repeats = true,
     .id = kCgroupId},
    {.name = "container",
     .argument = "ID|NAME|PID",
     .help = "records the processes of a container, by its id, its name or one of its processes",
     .more = "The beginning of the id is enough. Process ids are those of the host.",
     .repeats = true,
     .id = kContainerId},
    {.letter = 'o',
     .name = "output",
     .argument = "FILE",
     .help = "writes FILE instead of trace.dat",
     .more = "The file is opened before the program starts."},
    {.name = "mode",
     .argument = "overwrite|drop",
     .help = "says which events are lost when the buffer is full: the oldest (overwrite, the "
             "default) or the newest (drop); both are counted (not with -p)",
     .id = kMode},
    {.name = "format",
     .argument = "6|7",
     .help = "sets the version of the trace.dat; the default is 7",
     .id = kFormat},
    {.letter = 'k',
     .name = "kernel",
     .argument = "EVENT",
     .help = "records an event of the kernel, too: sched:sched_switch, 'block:*'; needs root",
     .more = "EVENT is SYSTEM:EVENT, SYSTEM or EVENT, with globs, as the kernel's available_events "
             "lists them. It is recorded of the tasks that are traced: the process, its threads "
             "and what they start. An -f behind it is the kernel's filter. The kernel's events "
             "stand on the same time line as the program's.",
     .repeats = true},
    {.name = "all-tasks", .help = "records the events of -k of every process", .id = kAllTasks},
    {.name = "follow",
     .help = "waits in the programs that CMD executes for events that CMD does not have",
     .more = "The programs that CMD executes, and those that they execute, are recorded in any "
             "case. Each is set up before its main(), with the same -e, -t and the rest; what it "
             "does not have of them is left out. All are in one file: `patchbay report "
             "--processes` lists them, and those that could not be followed, with the reason.",
     .id = kFollow},
    {.name = "follow-only",
     .argument = "GLOB",
     .help = "records, beside CMD, programs of this path or name only: cc1, '/usr/bin/*'; waits "
             "as --follow does",
     .repeats = true,
     .id = kFollowOnly},
    {.name = "no-follow",
     .help = "does not record the programs that CMD executes, and leaves them alone",
     .id = kNoFollow},
    {.name = "uprobes",
     .help = "records by the kernel's uprobes instead of the agent, at 1 to 10 us an event; needs "
             "root",
     .more = "Programs that cannot take the agent (static, Go, musl, 32 bits) are recorded so "
             "without being told.",
     .id = kUprobes},
    {.name = "no-uprobes", .help = "refuses programs that cannot take the agent", .id = kNoUprobes},
    {.name = "print",
     .help = "prints the events at the end, as patchbay report does",
     .id = kPrint},
    {.letter = 'v',
     .name = "verbose",
     .help = "names the functions that function_graph cannot have, with the reasons",
     .more = "Without it their number alone is said. debug/refused_returns lists them while a "
             "tracer runs."},
    {.letter = 'q',
     .name = "quiet",
     .help = "prints no progress and no summary",
     .more = "The progress line is shown on a terminal only, and only when the program does not "
             "print there."},
    {.letter = 'm', .argument = "MODE", .id = kMode, .kind = Option::Kind::kOldSpelling},
};

// A program that we start is in our control group: a small one has room for less.
uint64_t default_buffer_kb() {
  constexpr uint64_t kPartOfRoom = 4 * 1024;
  const auto cpus = uint64_t(std::max(::sysconf(_SC_NPROCESSORS_CONF), 1L));
  const std::optional<MemoryRoom> room = memory_room_of(0);
  const uint64_t most = room ? room->left / kPartOfRoom : kDefaultKbOfAllCpus;
  return std::clamp(std::min(most, kDefaultKbOfAllCpus) / cpus, kSmallestDefaultKb, kDefaultKb);
}

// Null when the option is right, else the sentence about it.
const char* take_option(int id, const char* value, RecordOptions* options) {
  const std::string_view text = value;
  if (id == 'f' && options->kernel_was_last) {
    options->kernel_events.back().filter = text;
    return text.empty() ? "-f takes a filter." : nullptr;
  }
  if (id == 'e' || id == 'k') options->kernel_was_last = id == 'k';
  if (TraceRequest::is_ours(id)) return options->request.take(id, value);
  int pid = 0;  // stays when -p has the name of a tracer, the old spelling of -t
  if (id == 'p' && !options->request.take_pid(value, &pid) && pid == 0) return nullptr;
  if (is_process_option(id)) return options->several.take(id, value);
  switch (id) {
    case 'o':
      options->output = text;
      return text.empty() || text == "-" ? "-o takes a file; standard output cannot be one."
                                         : nullptr;
    case kMode:
      options->overwrite = text == "overwrite";
      return text == "overwrite" || text == "drop" ? nullptr : "--mode takes overwrite or drop.";
    case kFormat:
      options->version = text == "6" ? 6 : 7;
      return text == "6" || text == "7" ? nullptr : "--format takes 6 or 7.";
    case kUprobes:
    case kNoUprobes:
      options->uprobes =
          id == kUprobes ? RecordOptions::Uprobes::kAlways : RecordOptions::Uprobes::kNever;
      return nullptr;
    case 'k':
      options->kernel_events.push_back({value, ""});
      return text.empty() ? "-k takes an event of the kernel." : nullptr;
    case kAllTasks:
      options->all_tasks = true;
      return nullptr;
    case kFollow:
      options->follow = RecordOptions::Follow::kAsked;
      return nullptr;
    case kNoFollow:
      options->follow = RecordOptions::Follow::kNo;
      return nullptr;
    case kFollowOnly:
      options->only.push_back(value);
      return text.empty() ? "--follow-only takes the name of a program." : nullptr;
    case kPrint:
      options->print = true;
      return nullptr;
    case 'v':
      options->verbose = true;
      return nullptr;
    default:
      options->quiet = true;
      return nullptr;
  }
}

// The same of several processes.
const char* check_several(const RecordOptions& options) {
  if (!options.words.empty()) return "Processes or a program to run are needed, not both.";
  if (!options.kernel_events.empty())
    return "-k records the kernel's events of one process: give one -p, or record them beside this "
           "with -k EVENT --all-tasks, and make one file of both by `patchbay merge`.";
  if (options.uprobes == RecordOptions::Uprobes::kAlways)
    return "--uprobes records one process: give one -p for each recording, and make one file of "
           "them by `patchbay merge`.";
  if (options.follow != RecordOptions::Follow::kUsual)
    return "--follow, --follow-only and --no-follow are about a program that is started.";
  return nullptr;
}

// Checks which options need each other. Null when all is right, else the sentence about it.
const char* check_options(RecordOptions* options) {
  const bool is_several = options->several.is_several();
  if (!is_several && !options->several.pids.empty()) options->pid = options->several.pids[0];
  if (options->words.empty() && options->pid == 0 && !is_several)
    options->pid = options->request.take_only_tid();
  if (const char* wrong = options->request.check()) return wrong;
  if (options->all_tasks && options->kernel_events.empty())
    return "--all-tasks is about -k: it needs an event of the kernel.";
  if (is_several) return check_several(*options);
  if (options->pid == 0 && !options->request.has_events() && options->kernel_events.empty())
    return "At least one -e 'FUNC(ARGS)', -e SYSTEM:EVENT, -t TRACER or -k EVENT is needed.";
  if (options->follow == RecordOptions::Follow::kNo && !options->only.empty())
    return "--follow-only and --no-follow are not for the same recording.";
  if (!options->only.empty()) options->follow = RecordOptions::Follow::kAsked;
  if (options->pid != 0 && options->follow != RecordOptions::Follow::kUsual)
    return "--follow, --follow-only and --no-follow are about a program that is started, not -p.";
  if (options->pid != 0)
    return options->words.empty() ? nullptr : "A process or a program to run is needed, not both.";
  if (options->words.empty()) return "The program to run is missing.";
  options->buffer_kb = options->request.take_top_buffer_kb();
  return nullptr;
}

// A word that is a process id, and no program behind `--`.
bool is_process(char** argv, int argc, const RecordOptions& options) {
  int pid = 0;
  return options.several.pids.empty() && !options.several.is_several() && ::optind < argc &&
         std::string_view(argv[::optind - 1]) != "--" && parse_pid(argv[::optind], &pid);
}

// Options, then the program's words. kOk, or the exit status in *status and false.
bool parse_command_line(int argc, char** argv, RecordOptions* options, int* status) {
  const auto take = [&](int id, const char* value) { return take_option(id, value, options); };
  for (;;) {  // options stand behind the process's id, too
    if (const std::optional<int> ended = parse_options(kRecordLine, argc, argv, take))
      return *status = *ended, false;
    if (!is_process(argv, argc, *options)) break;
    int pid = 0;
    if (take_pid_word(argv, argc, &pid)) options->several.pids.push_back(pid);
  }
  options->words.assign(argv + ::optind, argv + argc);
  const char* wrong = check_options(options);
  if (wrong) *status = usage_error("record", wrong);
  return wrong == nullptr;
}

// --- while it runs

struct Outcome {
  bool stopped = false;    // by a signal, the program lives
  bool exec_seen = false;  // the program has become another one
  std::string new_exe;
};

unsigned take_followed(FollowedPrograms& followed) {
  followed.look();
  return followed.drain();
}

void show_progress(const Recording& recording, const FollowedPrograms* followed,
                   Progress* progress) {
  if (!followed) return progress->show(recording);
  progress->show(recording.published() + followed->published(),
                 recording.bytes() + followed->bytes(), recording.lost() + followed->lost());
}

// Takes sub-buffers without sleeping while the program fills them fast, and rarely while it is
// quiet.
Outcome record_until_end(TracedChild& child, Recording& recording, serve::Client& client,
                         FollowedPrograms* followed, const RecordOptions& options) {
  Outcome outcome;
  Progress progress(!options.quiet && !::isatty(STDOUT_FILENO));
  std::string exe = exe_of(child.pid());
  int wait_ms = 1;
  bool agent_gone = false;
  int64_t next_look = monotonic_ms() + 100;
  for (;;) {
    unsigned filled = recording.drain();
    if (followed) filled = std::max(filled, take_followed(*followed));
    wait_ms = next_wait_ms(filled, wait_ms);
    show_progress(recording, followed, &progress);
    // The agent's socket goes with the program. That is the time to look at what it has become.
    const bool was_gone = agent_gone;
    TracedChild::Event event = child.wait(wait_ms, was_gone ? -1 : client.descriptor(),
                                          followed ? followed->descriptor() : -1);
    if (event == TracedChild::Event::kExited) return outcome;
    if (event == TracedChild::Event::kStopRequested) break;
    agent_gone = client.gone();
    if (agent_gone == was_gone && monotonic_ms() < next_look) continue;
    next_look = monotonic_ms() + 100;
    recording.refresh_events();
    if (outcome.exec_seen) continue;
    std::string now = exe_of(child.pid());
    outcome.exec_seen = !now.empty() && now != exe;
    if (outcome.exec_seen) outcome.new_exe = now;
  }
  if (recording.kernel()) recording.kernel()->stop();
  for (const InstanceRequest& instance : options.request.instances())  // the agent may have ended
    (void)client.write_all(instance.directory() + "tracing_on", "0\n", false);
  if (followed) followed->stop();
  for (int64_t end = monotonic_ms() + kGraceMs; monotonic_ms() < end && !child.exited();)
    (void)child.wait(10);
  outcome.stopped = !child.exited();
  return outcome;
}

// --- afterwards

// Processes that the program has forked, as far as they have recorded anything.
size_t forked_processes(const Recording& recording, pid_t pid) {
  std::set<uint32_t> others;
  for (const abi::CommEntry& entry : recording.buffer().comms()) {
    if (entry.tgid != uint32_t(pid)) others.insert(entry.tgid);
  }
  return others.size();
}

// The program that it has become. Empty: it is still the same.
std::string executed_program(const TracedChild& child, const Outcome& outcome,
                             const std::string& directory) {
  if (outcome.exec_seen) return outcome.new_exe;
  // A program that ends by exit() removes its socket.
  const bool has_socket = ::access((directory + "/" + serve::kSocketName).c_str(), F_OK) == 0;
  if (!has_socket || !child.exited() || !child.ended_as_another()) return "";
  return "another one (" + child.last_name() + ")";
}

std::string of_programs(uint64_t count) {
  return std::to_string(count) + (count == 1 ? " program" : " programs");
}

void print_followed(const FollowedPrograms& followed, const FollowedTotals& totals) {
  if (totals.programs.size() > 1)
    note(of_programs(totals.programs.size()) + " are in the file: " + counted(totals.programs));
  if (totals.has_nothing)
    note(of_programs(totals.has_nothing) + " that " + (totals.has_nothing == 1 ? "was" : "were") +
         " executed had nothing of what is recorded");
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const NotFollowed& one : followed.not_followed()) by_reason[one.reason].push_back(one.path);
  for (const auto& [reason, paths] : by_reason)
    note("not recorded (" + reason + "): " + counted(paths));
  const std::vector<std::string> failures = followed.failures();
  for (size_t i = 0; i < std::min<size_t>(failures.size(), 4); i++) note(failures[i]);
  if (failures.size() > 4)
    note("and " + of_programs(failures.size() - 4) +
         " more had such a failure: report --processes lists them");
  if (const size_t count = followed.go_on())
    note(of_programs(count) + (count == 1 ? " goes on and is" : " go on and are") +
         " not recorded any more");
  if (const uint64_t unnamed = followed.unnamed())
    note(of_programs(unnamed) + " more could not be followed, and could not say which they are");
  if (followed.is_damaged())
    note(
        "what followed programs have said is damaged, as where a disk was full: some may be "
        "missing");
}

void print_notes(const Recording& recording, const TracedChild& child, const Outcome& outcome,
                 const RecordOptions& options, const std::string& directory,
                 const FollowedPrograms* followed) {
  std::string executed = executed_program(child, outcome, directory);
  if (followed && followed->knows_successor(child.pid())) executed.clear();
  if (followed && followed->has_more())
    say_why_nothing(options.request, recording, followed->totals(recording).events,
                    followed->recorded());
  else
    say_why_nothing(options.request, recording);
  if (uint64_t missed = recording.missed())
    note(std::to_string(missed) + " hits could not be recorded");
  if (uint64_t nested = recording.recursion())
    note(std::to_string(nested) + " hits inside the agent were not recorded");
  if (uint64_t unhooked = recording.unhooked())
    note(std::to_string(unhooked) +
         " calls have no return and are in no graph: their callers' code walks its own stack by "
         "return addresses (code made at run time, V8, OCaml, Go), or more than 110,000 places "
         "call");
  if (!executed.empty())
    note("the program has executed " + one_line(executed) + ", which is not recorded");
  if (size_t forked = forked_processes(recording, child.pid())) {
    note(std::to_string(forked) + (forked == 1 ? " forked process is" : " forked processes are") +
         " in the file, too" + (followed ? "" : "; programs that they executed are not"));
  }
  if (outcome.stopped)
    note("recording has stopped; the program goes on as process " + std::to_string(child.pid()));
}

void remove_process_directory(const std::string& directory) {
  std::error_code ignored;  // with the buffers of instances
  std::filesystem::remove_all(directory, ignored);
}

int finish_followed(Recording& recording, const TraceDatResult& first, const RecordOptions& options,
                    FollowedPrograms& followed) {
  Result<MergeResult> merged = followed.finish(recording, first.moved_to);
  if (!merged.ok()) {
    for (const std::string& failure : followed.failures()) note(failure);
    return fail(options.command, merged.error());
  }
  merged->file.was_removed = first.was_removed;
  const FollowedTotals totals = followed.totals(recording);
  if (!options.quiet) {
    print_summary(recording, totals, merged->file, options.output);
    print_followed(followed, totals);
    for (const std::string& sentence : merged->notes) note(sentence);
  }
  return report_place(options.command, merged->file, options.output) ? kOk : kFailed;
}

// Events that the first program did not have, and no other one had. True: there are none.
bool say_what_nobody_had(const RecordOptions& options, const FollowedPrograms& followed) {
  bool all = true;
  for (const std::string& name : followed.awaited()) {
    if (followed.was_found(name)) continue;
    all = false;
    (void)fail(options.command, "'" + name + "': no program had such an event or function.");
  }
  return all;
}

// Writes the file. When that fails the buffer is kept, and `patchbay recover` can still read it.
int finish(Recording& recording, const TracedChild& child, const Outcome& outcome,
           const RecordOptions& options, const std::string& directory, FollowedPrograms* followed) {
  if (followed) followed->close();
  Result<TraceDatResult> result = recording.finish();
  if (!result.ok()) {
    fail(options.command, result.error());
    return fail(options.command, "What is left of the recording is in " + directory +
                                     "; patchbay recover reads it.");
  }
  const bool has_more = followed && followed->has_more();
  const TraceDatResult first = *result;
  if (has_more) result->was_removed = false, result->moved_to.clear();  // another file comes there
  bool saved = report_disk(options.command, *result, recording, options.output);
  if (has_more) {
    const int merged = finish_followed(recording, first, options, *followed);
    saved = saved && merged == kOk;
  } else if (!options.quiet) {
    print_summary(recording, *result, options.output);
  }
  if (!options.quiet) print_notes(recording, child, outcome, options, directory, followed);
  if (followed && !say_what_nobody_had(options, *followed)) saved = false;
  if (!outcome.stopped) remove_process_directory(directory);
  return saved ? kOk : kFailed;
}

// The program, held before main(), with its events defined; and the opened output.
struct Session {
  std::unique_ptr<OutputLock> lock;
  std::unique_ptr<TracedChild> child;
  std::unique_ptr<serve::Client> client;
  std::unique_ptr<Recording> recording;
  std::unique_ptr<FollowedPrograms> followed;  // null: nothing is followed
  KernelPart kernel;
  std::string directory;
};

bool is_ordinary_file(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// What is said of a program is only ever said of the first one, and its figures as well, where a
// command sets up more than events. The parts stand beside the output, which takes a file.
Status follow_programs(const RecordOptions& options, const std::string& runtime, Session* session) {
  using Follow = RecordOptions::Follow;
  if (options.follow == Follow::kNo || options.prepare) return {};
  if (options.follow == Follow::kUsual && !is_ordinary_file(options.output)) return {};
  auto made = FollowedPrograms::make(runtime, options);
  if (!made.ok() && made.error().errno_value == ENOLCK && options.follow == Follow::kUsual) {
    note(made.error().message());
    return {};
  }
  PB_ASSIGN(session->followed, std::move(made));
  return {};
}

Status start_program(const RecordOptions& options, Session* session) {
  PB_ASSIGN(std::vector<std::string> words, words_to_run(options.words));
  PB_ASSIGN(std::unique_ptr<OutputLock> lock, OutputLock::take(options.output));
  session->lock = std::move(lock);
  PB_ASSIGN(session->kernel, open_kernel_part(options));
  PB_ASSIGN(std::string runtime, serve::runtime_directory(true));
  remove_empty_leftovers(runtime);
  const uint64_t buffer_kb = options.buffer_kb ? options.buffer_kb : default_buffer_kb();
  PB_TRY(follow_programs(options, runtime, session));
  Result<EnvironmentList> environment =
      agent_environment(words[0], runtime, buffer_kb, options.overwrite,
                        session->followed ? session->followed->directory() : "");
  if (!environment.ok()) return environment.error();
  PB_ASSIGN(std::unique_ptr<TracedChild> child, TracedChild::start(words, *environment));
  session->child = std::move(child);
  session->directory = runtime + "/" + std::to_string(session->child->pid());
  return {};
}

void say_what_is_awaited(const std::string& exe, const std::vector<std::string>& missing) {
  for (const std::string& name : missing)
    note(one_line(base_name(exe)) + " has no '" + name +
         "': it is waited for in the programs that are executed");
}

// Of what the first program does not have.
Error with_hint(const Error& error) {
  if (error.errno_value != ENOENT) return error;
  return user_error(
      ENOENT, error.message() + "\n(--follow waits for it in the programs that are executed)");
}

Status prepare_recording(const RecordOptions& options, Session* session) {
  Result<std::unique_ptr<serve::Client>> client =
      session->child->wait_for_agent(session->directory);
  if (!client.ok()) return client.error();
  session->client = std::move(*client);
  AppliedRequest applied;
  TraceRequest request = options.request;
  if (options.prepare) PB_TRY(options.prepare(*session->client, &request, &applied));
  FollowedPrograms* const followed = session->followed.get();
  if (options.follow == RecordOptions::Follow::kAsked)
    applied.on_missing = AppliedRequest::Missing::kNamed;
  const Status set_up = apply_request(request, *session->client, &applied);
  if (!set_up.ok()) return followed ? with_hint(set_up.error()) : set_up.error();
  if (followed) followed->first_has(applied.found, applied.missing);
  if (!options.quiet) say_what_is_awaited(session->client->exe(), applied.missing);
  say_refused_returns(options, *session->client);
  Result<std::vector<RecordedBuffer>> buffers =
      open_buffers(request, *session->client, session->directory, true);
  if (!buffers.ok()) return buffers.error();
  Result<std::unique_ptr<Recording>> recording = Recording::open(
      std::move(*buffers), options.output, options.version, std::move(session->kernel));
  if (!recording.ok()) return recording.error();
  session->recording = std::move(*recording);
  PB_TRY(start_kernel_events(options, *session->recording, session->child->pid()));
  session->lock->keep();
  if (followed) followed->first_runs(session->child->pid(), session->client->exe(), options.words);
  run_time_begins();
  return session->child->release(*session->client);
}

// The exit status of a recording by uprobes; nothing: the program takes the agent, or nothing can
// be done for it.
std::optional<int> without_agent(const RecordOptions& options) {
  if (options.uprobes == RecordOptions::Uprobes::kAlways)
    return record_by_uprobes(options, nullptr);
  const Result<std::vector<std::string>> words = words_to_run(options.words);
  if (words.ok() || words.error().errno_value != ENOEXEC) return std::nullopt;
  return record_by_uprobes(options, &words.error());
}

}  // namespace

Result<KernelPart> open_kernel_part(const RecordOptions& options) {
  KernelPart part;
  if (options.kernel_events.empty()) return part;
  PB_ASSIGN(part.events, KernelEvents::open(options.kernel_events));
  part.buffer_kb =
      options.buffer_kb ? options.buffer_kb : options.request.instances().front().buffer_kb;
  if (!part.buffer_kb) part.buffer_kb = default_buffer_kb();
  part.overwrite = options.overwrite;
  return part;
}

Status start_kernel_events(const RecordOptions& options, Recording& recording, pid_t pid) {
  KernelEvents* kernel = recording.kernel();
  if (!kernel) return {};
  std::vector<pid_t> threads;
  for (const std::string& tid : options.request.instances().front().tids)
    threads.push_back(std::atoi(tid.c_str()));
  if (!options.all_tasks && !is_first_pid_namespace())
    return user_error(
        EOPNOTSUPP,
        "the kernel knows this process by another number than this container, so that "
        "its events alone cannot be chosen: record -k with --all-tasks, or outside");
  if (!options.all_tasks && !threads.empty())
    PB_TRY(kernel->rings().follow(threads, false));
  else if (!options.all_tasks)
    PB_TRY(kernel->rings().follow_process(pid, serve::kControlThreadName));
  return kernel->start();
}

void say_refused_returns(const RecordOptions& options, serve::Client& client) {
  bool has_graph = false;
  for (const InstanceRequest& instance : options.request.instances())
    has_graph |= instance.tracer == "function_graph";
  if (!has_graph || options.quiet) return;
  Result<std::string> text = client.read_all("debug/refused_returns", serve::kMostFunctions);
  if (!text.ok() || !text->starts_with("# ") || text->starts_with("# 0 ")) return;
  std::vector<std::string> lines = split_lines(*text);
  note(lines[0].substr(2) + " and are in no graph" + (options.verbose ? ":" : " (-v names them)"));
  for (size_t i = 1; options.verbose && i < lines.size(); i++)
    std::fprintf(stderr, "  %s\n", printable(lines[i]).c_str());
}

Result<std::vector<RecordedBuffer>> open_buffers(const TraceRequest& request, serve::Client& client,
                                                 const std::string& process_directory,
                                                 bool consume) {
  PB_ASSIGN(UniqueFd fd, client.open_buffer());
  PB_ASSIGN(std::unique_ptr<BufferFile> top, BufferFile::from_fd(std::move(fd), consume));
  std::vector<RecordedBuffer> buffers(1);
  buffers[0].file = std::move(top);
  buffers[0].path = process_directory + "/" + serve::kBufferName;
  buffers[0].consume = consume;
  const InstanceRequest& first = request.instances()[0];
  buffers[0].wanted = first.stand_in.empty() &&
                      (request.instances().size() == 1 || !first.events.empty() || first.traces());
  for (const InstanceRequest& instance : request.instances()) {
    if (instance.directory().empty()) continue;
    std::string path = process_directory + "/" + instance.directory() + serve::kBufferName;
    PB_ASSIGN(std::unique_ptr<BufferFile> file, BufferFile::open(path, consume));
    buffers.push_back({instance.instance, std::move(file), path, consume, true});
  }
  return buffers;
}

int record_program(const RecordOptions& options) {
  if (std::optional<int> status = without_agent(options)) return *status;
  Session session;
  Status ready = start_program(options, &session);
  if (ready.ok()) ready = prepare_recording(options, &session);
  if (!ready.ok()) {
    bool started = session.child != nullptr;
    session.child.reset();  // held: it is killed, main() never ran
    if (started) remove_process_directory(session.directory);
    return fail(options.command, ready.error());
  }
  Outcome outcome = record_until_end(*session.child, *session.recording, *session.client,
                                     session.followed.get(), options);
  int written = finish(*session.recording, *session.child, outcome, options, session.directory,
                       session.followed.get());
  if (session.followed && !outcome.stopped) session.followed->first_ended();
  session.followed.reset();
  session.client.reset();
  while (!session.child->exited()) (void)session.child->wait(-1);
  if (outcome.stopped) remove_process_directory(session.directory);
  if (options.print && written == kOk) written = print_report(options);
  return session.child->exit_status() != 0 ? session.child->exit_status() : written;
}

namespace {

// A process in a pid namespace of its own, whose numbers become ours where parts become one file.
// What records by uprobes, or events of the kernel, has ours anyway.
bool is_for_inside(const RecordOptions& options) {
  struct stat status {};
  const bool is_ordinary = ::stat(options.output.c_str(), &status) != 0 || S_ISREG(status.st_mode);
  return options.pid != 0 && is_ordinary && options.kernel_events.empty() &&
         options.uprobes != RecordOptions::Uprobes::kAlways && number_inside(options.pid) != 0 &&
         check_program("/proc/" + std::to_string(options.pid) + "/exe").ok();
}

}  // namespace

constexpr CommandLine kRecordLine = {
    .name = "record",
    .summary = "record events of a program, or of a running process",
    .synopsis =
        "record -e EVENT|-t TRACER [OPTION...] [--] CMD [ARG...]\n"
        "record -p PID [-e EVENT] [-t TRACER] [OPTION...]\n"
        "record -p PID,PID...|--all|--service NAME|--cgroup PATH|--container ID [OPTION...]",
    .about = R"(Runs CMD and records its events and calls; or records those of a running process,
until Ctrl-C or its end. A process that was started without the agent gets it, and
is left by it at the end.

EVENT is one of
  'FUNC(TYPE NAME, ...)'  calls of a function with its arguments, as
                          function_events takes it:
                          'openat(int dfd, string path, x32 flags)'
  'FUNC(*)'               the same with all arguments that debug information knows
  'FUNC:LINE VAR ...'     a line of the source and variables there, as patchbay
                          probe takes them
  'p:NAME PLACE ARG ...'  a probe as dynamic_events takes it; also r, f, t, e
  SYSTEM:EVENT, SYSTEM, EVENT
                          events that the program brings; * and ? are globs
)",
    .options = {kAllRequestOptions, kOptions, kChosenProcessOptions},
    .after = R"(Ctrl-C stops recording, and the file is written. The exit status is that of CMD
(128 + N when signal N has killed it), 1 when recording failed, 2 for a wrong
command line.
Example: patchbay record -e 'sqlite3_prepare_v2(NULL, string sql, int n)' -- \
             sqlite3 x.db .schema
)",
    .words = "CMD",
    .order = CommandLine::Words::kLast,
    .attaches = true,
    .lasts = true,
};

int run_record(int argc, char** argv) {
  RecordOptions options;
  int status = kOk;
  if (!parse_command_line(argc, argv, &options, &status)) return status;
  if (options.several.is_several()) return record_processes(options);
  if (is_for_inside(options)) {
    options.several.pids = {options.pid};
    return record_processes(options);
  }
  return options.pid != 0 ? record_process(options) : record_program(options);
}

}  // namespace patchbay::cmd
