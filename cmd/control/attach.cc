// SPDX-License-Identifier: MIT
//
// patchbay attach PID…, patchbay detach PID…: the agent into running processes, until it is told to
// go, and out of them. What cannot be done for one process is said, and the others are done.
#include "attach/attach.h"

#include <stdlib.h>

#include <cerrno>

#include "base/monotonic_clock.h"
#include "cmd/common/tracefs_command.h"
#include "cmd/target/attachment.h"
#include "cmd/target/process_word.h"
#include "cmd/target/target_program.h"
#include "cmd/target/trace_request.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

constexpr int kDirectory = kFirstOptionId;
constexpr Option kAttachOptions[] = {
    {.letter = 'p',
     .name = "pid",
     .argument = "PID",
     .help = "names a process, by its id or its name, as a word does",
     .repeats = true},
    {.letter = 'b',
     .name = "buffer-size",
     .argument = "SIZE",
     .help = "sets the size of the buffer of one CPU: KB, or with a unit, as 512K, 64M, 1G; the "
             "default is 1408 KB"},
    {.name = "directory",
     .argument = "DIR",
     .help = "means this runtime directory instead of PATCHBAY_DIR, or the default",
     .more = "Other commands find the process with the same PATCHBAY_DIR.",
     .id = kDirectory},
};
constexpr Option kDetachOptions[] = {kAttachOptions[0], kAttachOptions[2]};

struct Options {
  AttachOptions attach;
  std::vector<int> pids;
};

const char* take_option(int id, const char* value, Options* options) {
  TraceRequest size;
  const char* wrong = nullptr;
  switch (id) {
    case 'p':
      return take_pids(value, &options->pids);
    case 'b':
      wrong = size.take('b', value);
      options->attach.buffer_kb = size.take_top_buffer_kb();
      return wrong;
    default:
      if (!*value) return "--directory takes a directory.";
      ::setenv("PATCHBAY_DIR", value, 1);
      return nullptr;
  }
}

bool parse_command_line(const CommandLine& line, int argc, char** argv, Options* options,
                        int* status) {
  const auto take = [&](int id, const char* value) { return take_option(id, value, options); };
  if (const std::optional<int> ended = parse_options(line, argc, argv, take))
    return *status = *ended, false;
  for (int i = ::optind; i < argc; i++) {
    if (const char* wrong = take_pids(argv[i], &options->pids))
      return *status = usage_error(line.name, wrong), false;
  }
  if (options->pids.empty()) *status = usage_error(line.name, "A process id is needed.");
  return !options->pids.empty();
}

std::string name_of(int pid) {
  return "process " + std::to_string(pid) + " (" + one_line(exe_of(pid)) + ")";
}

Status attach_one(int pid, const AttachOptions& options) {
  const uint64_t began_ns = monotonic_ns();
  Attachment attachment;
  PB_ASSIGN(std::unique_ptr<serve::Client> client, attach_if_needed(pid, &attachment, options));
  const double took_ms = double(monotonic_ns() - began_ns) / 1e6;
  if (!attachment.stay(false)) return user_error(EINTR, "interrupted");
  PB_ASSIGN(std::string runtime, serve::runtime_directory(false));
  const std::string directory = runtime + "/" + std::to_string(pid);
  const attach::Arrived& arrived = attachment.arrived();
  if (attachment.is_ours())
    std::printf(
        "attached to %s in %.1f ms (one thread stood still for %.2f ms, all for %.2f ms): %s\n",
        name_of(pid).c_str(), took_ms, double(arrived.one_stopped_ns) / 1e6,
        double(arrived.all_stopped_ns) / 1e6, directory.c_str());
  else
    std::printf("%s has the agent already: %s\n", name_of(pid).c_str(), directory.c_str());
  return {};
}

Status detach_one(int pid) {
  const std::string name = name_of(pid);
  Status done = detach_process(pid);
  if (done.ok()) std::printf("detached from %s\n", name.c_str());
  if (done.ok() || done.error().errno_value == EINVAL) return done;
  Result<std::string> agent = find_agent();
  if (!agent.ok()) return done;
  Result<attach::Presence> presence = attach::presence_of(pid, *agent);
  if (!presence.ok() || *presence == attach::Presence::kActive) return done;
  if (*presence == attach::Presence::kAsleep)
    return std::printf("%s is detached already\n", name.c_str()), Status();
  return user_error(ESRCH, "Process " + std::to_string(pid) + " has no agent.");
}

}  // namespace

constexpr CommandLine kAttachLine = {
    .name = "attach",
    .summary = "put the agent into running processes",
    .synopsis = "attach [-b SIZE] [--directory DIR] [--force] PID...",
    .about = R"(Puts the agent into running processes that were started without it. It stays until
`patchbay detach`, or the end of the process. Variables of the environment that
begin with PATCHBAY_ mean what they mean to a program that is started with the
agent.

Commands that need the agent put it in by themselves. Those that measure and end
(record, top, hist, latency, sql, mount, with-tracefs) take it out again.

)",
    .options = {kAttachOptions},
    .after = R"(The exit status is 0 when all processes have the agent, else 1.
Example: patchbay attach 1234 && patchbay ls 1234
)",
    .words = "PROCESS...",
    .attaches = true,
};

constexpr CommandLine kDetachLine = {
    .name = "detach",
    .summary = "take the agent out of running processes",
    .synopsis = "detach [--directory DIR] PID...",
    .about = R"(Takes the agent out of processes that it was put into: their code, signals and
threads are as they were. What was set up is gone, and so are the buffers. The
library stays in memory, and does nothing; the next attach wakes it up.

)",
    .options = {kDetachOptions},
    .after = "The exit status is 0 when no process has an agent that works, else 1.\n",
    .words = "PID...",
};

int run_attach(int argc, char** argv) {
  Options options;
  int status = kOk;
  if (!parse_command_line(kAttachLine, argc, argv, &options, &status)) return status;
  for (int pid : options.pids) {
    Status done = attach_one(pid, options.attach);
    if (!done.ok()) status = fail("attach", done.error());
  }
  return status;
}

int run_detach(int argc, char** argv) {
  Options options;
  int status = kOk;
  if (!parse_command_line(kDetachLine, argc, argv, &options, &status)) return status;
  for (int pid : options.pids) {
    Status done = detach_one(pid);
    if (!done.ok()) status = fail("detach", done.error());
  }
  return status;
}

}  // namespace patchbay::cmd
