// SPDX-License-Identifier: MIT
//
// patchbay record -p PID: records a running process that carries the agent, and leaves it as it was
// found: what the request has enabled is disabled again, instances that it has made are removed.
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <cerrno>

#include "commands.h"
#include "record.h"
#include "record_report.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

UniqueFd watch_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Until a signal (true) or the end of the process.
bool record_until_told(Recording& recording, const serve::Client& client, int signals, bool quiet) {
  Progress progress(!quiet);
  int64_t next_look = now_ms() + 100;
  for (int wait_ms = 1;;) {
    wait_ms = next_wait_ms(recording.drain(), wait_ms);
    progress.show(recording);
    pollfd polled[] = {{signals, POLLIN, 0}, {client.descriptor(), 0, 0}};
    (void)::poll(polled, 2, wait_ms);
    if (polled[0].revents) return true;
    if (polled[1].revents) return false;
    if (now_ms() < next_look) continue;
    next_look = now_ms() + 100;
    recording.refresh_events();
  }
}

int finish(Recording& recording, bool stopped, bool answers, const RecordOptions& options) {
  Result<TraceDatResult> result = recording.finish();
  if (!result.ok()) return fail(options.command, result.error());
  bool saved = report_disk(options.command, *result, recording, options.output);
  if (!options.quiet) {
    print_summary(recording, *result, options.output);
    say_why_nothing(options.request, recording);
    if (uint64_t missed = recording.missed())
      note(std::to_string(missed) + " hits could not be recorded");
    std::string name = "process " + std::to_string(options.pid);
    std::string ended = answers ? "; " + name + " goes on" : "";
    note(stopped ? "recording has stopped" + ended : name + " has ended");
  }
  return saved ? kOk : kFailed;
}

int record_client(const RecordOptions& options, serve::Client& client, OutputLock& lock) {
  UniqueFd signals = watch_signals();
  AppliedRequest applied;
  Status ready = options.prepare ? options.prepare(client) : Status();
  if (ready.ok()) ready = apply_request(options.request, client, &applied);
  if (ready.ok()) say_refused_returns(options, client);
  Result<std::string> runtime = serve::runtime_directory(false);
  if (ready.ok() && !runtime.ok()) ready = runtime.error();
  Result<std::vector<RecordedBuffer>> buffers = std::vector<RecordedBuffer>();
  if (ready.ok())
    buffers =
        open_buffers(options.request, client, *runtime + "/" + std::to_string(options.pid), true);
  Result<std::unique_ptr<Recording>> recording = sys_error("record", EINVAL);
  if (ready.ok() && !buffers.ok()) ready = buffers.error();
  if (ready.ok()) recording = Recording::open(std::move(*buffers), options.output, options.version);
  if (ready.ok() && !recording.ok()) ready = recording.error();
  if (!ready.ok()) {
    undo_request(applied, client);
    if (options.take_back) options.take_back(client);
    return fail(options.command, ready.error());
  }
  lock.keep();
  bool stopped = record_until_told(**recording, client, signals.get(), options.quiet);
  stop_request(applied, client);
  int status = finish(**recording, stopped, client.answers(), options);
  undo_request(applied, client);
  if (options.take_back) options.take_back(client);
  return status;
}

}  // namespace

int record_process(const RecordOptions& options) {
  Result<std::unique_ptr<serve::Client>> client = serve::Client::connect(options.pid);
  if (!client.ok()) return fail(options.command, client.error());
  Result<std::unique_ptr<OutputLock>> lock = OutputLock::take(options.output);
  if (!lock.ok()) return fail(options.command, lock.error());
  int status = record_client(options, **client, **lock);
  return options.print && status == kOk ? print_report(options.output) : status;
}

}  // namespace patchbay::cmd
