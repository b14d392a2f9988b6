// SPDX-License-Identifier: MIT
//
// The program that `patchbay record` runs: started with the agent, waiting before main() until it
// is told to go on, watched together with the signals that the tool gets.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "serve/client.h"

namespace patchbay::cmd {

using EnvironmentList = std::vector<std::pair<std::string, std::string>>;

class TracedChild {
 public:
  // Blocks the signals that end a recording, in the tool only, and runs `words` with `environment`
  // added. When exec itself fails, the error has its errno.
  static Result<std::unique_ptr<TracedChild>> start(const std::vector<std::string>& words,
                                                    const EnvironmentList& environment);
  // The same without the agent, and held before exec: its number is known, and nothing of it runs
  // until let_go().
  static Result<std::unique_ptr<TracedChild>> start_held(const std::vector<std::string>& words);
  Status let_go();
  // A program that is still held before main() is killed; another one is left alone.
  ~TracedChild();

  // Waits for the agent in `process_directory`. Fails when the program ends before it answers, when
  // it takes too long, or when a signal asks the tool to stop.
  Result<std::unique_ptr<serve::Client>> wait_for_agent(const std::string& process_directory);
  // From here on the program runs.
  Status release(serve::Client& client);

  enum class Event { kNothing, kExited, kStopRequested };
  // Waits for at most `timeout_ms` (-1: for ever), or until one of the descriptors can be read. A
  // signal that only the tool got is passed on. A signal is told before an exit is.
  Event wait(int timeout_ms, int until = -1, int or_until = -1);
  // Called when the time of --for is over, before the program is told to end: what it has counted
  // goes with it.
  void before_timed_end(std::function<void()> look) { before_timed_end_ = std::move(look); }

  pid_t pid() const { return pid_; }
  bool exited() const { return exited_; }
  // What a shell would report: the exit status, or 128 + the signal. Valid when exited().
  int exit_status() const;
  // The name that it had at its end (at most 15 bytes), and whether it had another one before
  // main(): then it has executed another program, or has renamed itself. Valid when exited().
  const std::string& last_name() const { return last_name_; }
  bool ended_as_another() const;
  // It has executed another program, which is known.
  void note_program();
  // "exited with status 3", "was killed by signal 11 (Segmentation fault)".
  std::string how_it_ended() const;

 private:
  TracedChild() = default;
  Status spawn(const std::vector<std::string>& words, const EnvironmentList& environment,
               bool before_exec);
  Status wait_for_exec();
  bool reap(int flags);
  void pass_on(int signal, bool from_terminal);

  std::function<void()> before_timed_end_;
  pid_t pid_ = 0;
  bool exited_ = false;
  bool held_ = true;
  int status_ = 0;
  std::string first_name_, last_name_;
  std::string program_;
  UniqueFd signals_;
  UniqueFd gate_;   // held before exec: a byte lets it go
  UniqueFd error_;  // exec closes it, or its errno comes
};

}  // namespace patchbay::cmd
