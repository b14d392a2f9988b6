// SPDX-License-Identifier: MIT
//
// patchbay record -p PID: records a running process, and leaves it as it was found. An agent that
// was put in for it goes at the end (attachment.h). The recording works in an instance of its own.
// So several recorders, and people who work in the tree, have their own filters, sizes, tracers and
// events:
//
//   -e, -t TRACER          an instance patchbay-N-1 stands in for the top one
//   -B NAME -e …           the instance NAME is made; one that somebody else has made is used as it
//                          is; in the place of another recorder's stands one of ours
//   nothing                what the process's top instance records already is taken out of it
//
// Definitions are shared with the others (tool_uses.h).
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <cerrno>

#include "base/memory_room.h"
#include "base/monotonic_clock.h"
#include "cmd/common/commands.h"
#include "cmd/common/run_time.h"
#include "cmd/record/record.h"
#include "cmd/record/record_report.h"
#include "cmd/record/record_uprobes.h"
#include "cmd/target/apply_request.h"
#include "cmd/target/attachment.h"
#include "cmd/target/memory_need.h"
#include "cmd/target/running_process.h"
#include "cmd/target/target_program.h"
#include "cmd/target/tool_uses.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

// "nginx" of "/usr/sbin/nginx".
std::string program_name(const std::string& exe) { return exe.substr(exe.rfind('/') + 1); }

// Until a signal (true) or the end of the process.
bool record_until_told(Recording& recording, const serve::Client& client, int signals, bool quiet) {
  Progress progress(!quiet);
  int64_t next_look = monotonic_ms() + 100;
  for (int wait_ms = 1;;) {
    wait_ms = next_wait_ms(recording.drain(), wait_ms);
    progress.show(recording);
    pollfd polled[] = {{signals, POLLIN, 0}, {client.descriptor(), 0, 0}};
    (void)::poll(polled, 2, wait_ms);
    if (polled[0].revents) {
      serve::end_soon();  // also where a shell has had the signal ignored, behind `&`
      return true;
    }
    if (polled[1].revents) return false;
    if (monotonic_ms() < next_look) continue;
    next_look = monotonic_ms() + 100;
    recording.refresh_events();
  }
}

// The user's instances of a request that record nothing.
std::vector<std::string> switched_off(const TraceRequest& request, serve::Client& client) {
  std::vector<std::string> off;
  for (const InstanceRequest& one : request.instances()) {
    if (one.instance.empty() || !one.stand_in.empty()) continue;
    Result<std::string> on = client.read_all(one.directory() + "tracing_on");
    if (on.ok() && *on == "0\n") off.push_back(one.instance);
  }
  return off;
}

int finish(Recording& recording, bool stopped, bool answers, const std::string& exe,
           const RecordOptions& options, const std::vector<std::string>& off) {
  Result<TraceDatResult> result = recording.finish();
  if (!result.ok()) return fail(options.command, result.error());
  bool saved = report_disk(options.command, *result, recording, options.output);
  if (!options.quiet) {
    print_summary(recording, *result, options.output);
    say_why_nothing(options.request, recording, off);
    if (uint64_t missed = recording.missed())
      note(std::to_string(missed) + " hits could not be recorded");
    std::string name = "process " + std::to_string(options.pid);
    std::string ended = answers ? "; " + name + " goes on" : "";
    const std::string now = exe_of(options.pid);
    if (!stopped && !now.empty() && now != exe)
      note(name + " has executed " + one_line(now) + ", which is not recorded");
    else
      note(stopped ? "recording has stopped" + ended : name + " has ended");
  }
  return saved ? kOk : kFailed;
}

// Everything is set up, and the buffers are open.
Result<std::unique_ptr<Recording>> prepare(RecordOptions* options, serve::Client& client,
                                           const std::string& directory, AppliedRequest* applied) {
  PB_ASSIGN(KernelPart kernel, open_kernel_part(*options));
  PB_TRY(make_stand_ins(client, &options->request, applied->uses, bool(options->prepare)));
  if (options->prepare) PB_TRY(options->prepare(client, &options->request, applied));
  PB_TRY(apply_request(options->request, client, applied));
  say_refused_returns(*options, client);
  Result<std::vector<RecordedBuffer>> buffers =
      open_buffers(options->request, client, directory, true);
  if (!buffers.ok()) return buffers.error();
  PB_ASSIGN(
      std::unique_ptr<Recording> recording,
      Recording::open(std::move(*buffers), options->output, options->version, std::move(kernel)));
  PB_TRY(start_kernel_events(*options, *recording, options->pid));
  return recording;
}

// What failed of a process that has gone away meanwhile, a file that went with it for example, says
// less than that.
Error gone_too_soon(int pid) {
  return user_error(ESRCH, "Process " + std::to_string(pid) +
                               " has ended, or executed another program, before the recording "
                               "began.");
}

// `signals` are watched. `attachment`: how the agent has come.
int record_client(RecordOptions options, serve::Client& client, OutputLock& lock, int signals,
                  const Attachment& attachment) {
  Result<std::string> runtime = serve::runtime_directory(false);
  if (!runtime.ok()) return fail(options.command, runtime.error());
  const std::string directory = *runtime + "/" + std::to_string(options.pid);
  Result<std::unique_ptr<ToolUses>> uses = ToolUses::begin(client, directory);
  if (!uses.ok()) return fail(options.command, uses.error());
  AppliedRequest applied;
  applied.uses = uses->get();
  Result<std::unique_ptr<Recording>> recording = prepare(&options, client, directory, &applied);
  if (!recording.ok()) {
    (*uses)->release();
    say_what_stays(client);
    return fail(options.command, client.gone() ? gone_too_soon(options.pid) : recording.error());
  }
  (*uses)->ready();
  const std::string exe = exe_of(options.pid);
  lock.keep();
  if (attachment.is_ours() && !options.quiet)
    note("attached to " + std::to_string(options.pid) + " (" + one_line(program_name(exe)) +
         "); Ctrl-C ends the recording");
  run_time_begins();
  bool stopped = record_until_told(**recording, client, signals, options.quiet);
  const std::vector<std::string> off = switched_off(options.request, client);
  if ((*recording)->kernel()) (*recording)->kernel()->stop();
  stop_request(applied, client);
  int status = finish(**recording, stopped, client.answers(), exe, options, off);
  (*uses)->release();
  say_what_stays(client);
  return status;
}

}  // namespace

Status make_stand_ins(serve::Client& client, TraceRequest* request, ToolUses* uses, bool always) {
  for (size_t i = 0; i < request->instances().size(); i++) {
    const InstanceRequest& one = request->instances()[i];
    const bool wants_own = one.instance.empty()
                               ? !one.events.empty() || one.traces() || always
                               : uses->is_others(ToolUse::Kind::kInstance, one.instance);
    if (wants_own) PB_TRY(make_stand_in(client, request, i, uses));
  }
  return {};
}

UniqueFd watch_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM, SIGQUIT}) ::sigaddset(&set, signal);
  struct sigaction hangup {};
  const bool under_nohup =
      ::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler == SIG_IGN;
  if (!under_nohup) ::sigaddset(&set, SIGHUP);  // blocked, it would come all the same
  UniqueFd signals(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  // Who reads our messages may end before us; that is no reason to leave agents behind.
  ::sigaddset(&set, SIGPIPE);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return signals;
}

int record_process(const RecordOptions& options) {
  if (options.uprobes == RecordOptions::Uprobes::kAlways)
    return record_by_uprobes(options, nullptr).value_or(kFailed);
  int status = kOk;
  {
    Result<std::unique_ptr<OutputLock>> lock = OutputLock::take(options.output);
    if (!lock.ok()) return fail(options.command, lock.error());
    const UniqueFd signals = watch_signals();
    Attachment attachment;
    if (Status room = check_room_for_request(options.pid, options.request); !room.ok())
      return fail(options.command, room.error());
    const KilledInGroup killed(options.pid);
    Result<std::unique_ptr<serve::Client>> client = attach_if_needed(options.pid, &attachment);
    if (!client.ok() && client.error().errno_value == ENOEXEC) {
      lock->reset();
      if (const auto recorded = record_by_uprobes(options, &client.error())) return *recorded;
    }
    if (!client.ok()) return fail(options.command, client.error());
    attachment.deliver_signals();
    status = record_client(options, **client, **lock, signals.get(), attachment);
    if (const std::string group = killed.group(); !group.empty() && !is_alive(options.pid))
      remark("the kernel has killed a process of the control group " + group +
             " meanwhile, because its memory was used up");
  }
  return options.print && status == kOk ? print_report(options) : status;
}

}  // namespace patchbay::cmd
