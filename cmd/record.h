// SPDX-License-Identifier: MIT
// `patchbay record` in its two forms: of a program that it starts, and of a running process.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "recording.h"
#include "serve/client.h"
#include "trace_request.h"
#include "traced_child.h"

namespace patchbay::cmd {

struct RecordOptions {
  std::string command = "record";  // whose name messages bear
  TraceRequest request;
  int pid = 0;  // -p or -P; 0: `words` is run
  std::string output = "trace.dat";
  uint64_t buffer_kb = 0;  // of the top buffer of a program that is started
  bool overwrite = true;
  int version = 7;
  bool print = false;
  bool quiet = false;
  bool verbose = false;
  std::vector<std::string> words;
  // What else is set up before the events are enabled, in the first instance of the request, which
  // it may add events to.
  std::function<Status(serve::Client&, TraceRequest*, AppliedRequest*)> prepare;
};

// The words of a program as they are to be run with the agent; refused when it cannot be preloaded.
Result<std::vector<std::string>> words_to_run(const std::vector<std::string>& words);
// What preloads the agent into `program`, which then waits before main(). `directory`: the runtime
// directory.
Result<EnvironmentList> agent_environment(const std::string& program, const std::string& directory,
                                          uint64_t buffer_kb, bool overwrite);

// The buffers that a request is about; `process_directory` is DIR/PID. `consume`: what is read is
// gone for other readers.
Result<std::vector<RecordedBuffer>> open_buffers(const TraceRequest& request, serve::Client& client,
                                                 const std::string& process_directory,
                                                 bool consume);

// The program that a process runs; empty: it has ended.
std::string exe_of(pid_t pid);

// Functions that function_graph is asked for and cannot have: how many, and with -v which and why.
void say_refused_returns(const RecordOptions& options, serve::Client& client);

// record CMD: until its end, or Ctrl-C. Returns the exit status.
int record_program(const RecordOptions& options);
// record -p PID: until Ctrl-C, or the end of the process. Returns the exit status.
int record_process(const RecordOptions& options);

}  // namespace patchbay::cmd
