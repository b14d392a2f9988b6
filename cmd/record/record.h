// SPDX-License-Identifier: MIT
// `patchbay record` in its two forms: of a program that it starts, and of a running process.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "cmd/record/recording.h"
#include "cmd/target/apply_request.h"
#include "cmd/target/process_choice.h"
#include "cmd/target/trace_request.h"
#include "cmd/target/traced_child.h"
#include "serve/client.h"

namespace patchbay::cmd {

class ToolUses;

struct RecordOptions {
  std::string command = "record";  // whose name messages bear
  TraceRequest request;
  int pid = 0;  // 0: `words` is run, or `several` are recorded
  ProcessChoice several;
  std::string output = "trace.dat";
  uint64_t buffer_kb = 0;  // of the top buffer of a program that is started
  bool overwrite = true;
  int version = 7;
  bool print = false;
  bool json = false;  // what is printed
  bool quiet = false;
  bool verbose = false;
  // For programs that cannot take the agent; for all; for none.
  enum class Uprobes : uint8_t { kWhereNeeded, kAlways, kNever };
  Uprobes uprobes = Uprobes::kWhereNeeded;
  std::vector<KernelEventRequest> kernel_events;
  bool kernel_was_last = false;  // of -e and -k: what the next -f is about
  bool all_tasks = false;        // the kernel's events of every process
  std::vector<std::string> words;
  // Programs that the program executes are recorded, too.
  // Programs that are executed. kAsked: they may have what the first one has not.
  enum class Follow : uint8_t { kUsual, kAsked, kNo };
  Follow follow = Follow::kUsual;
  std::vector<std::string> only;  // globs: these programs alone
  // Sets up more before the events are enabled, in the first instance of the request, to which it
  // may add events.
  std::function<Status(serve::Client&, TraceRequest*, AppliedRequest*)> prepare;
};

// The buffers that a request is about. `process_directory` is DIR/PID. `consume`: no other reader
// gets what is read.
Result<std::vector<RecordedBuffer>> open_buffers(const TraceRequest& request, serve::Client& client,
                                                 const std::string& process_directory,
                                                 bool consume);

// Instances of the command's own in a process that goes on, where others have what they would be.
// `always`: also for the top one of which nothing is asked.
Status make_stand_ins(serve::Client& client, TraceRequest* request, ToolUses* uses, bool always);

// Names the functions that function_graph cannot have: their number, and with -v each one with its
// reason.
void say_refused_returns(const RecordOptions& options, serve::Client& client);

// The part of the kernel; without events where none were asked for. Rights and names are looked at
// here, before a program runs.
Result<KernelPart> open_kernel_part(const RecordOptions& options);
// The kernel's events of the process begin, where there are any.
Status start_kernel_events(const RecordOptions& options, Recording& recording, pid_t pid);

// Blocks the signals that end a recording, and makes a descriptor that is readable when one comes.
UniqueFd watch_signals();

// record CMD: until its end, or Ctrl-C. Returns the exit status.
int record_program(const RecordOptions& options);
// record -p PID: until Ctrl-C, or the end of the process. Returns the exit status.
int record_process(const RecordOptions& options);
// record -p A -p B, --all, --cgroup …: until Ctrl-C, or the end of all where none can come. Returns
// the exit status.
int record_processes(const RecordOptions& options);

}  // namespace patchbay::cmd
