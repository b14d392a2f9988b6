// SPDX-License-Identifier: MIT
//
// The process that `top`, `hist` and their like look at: one that runs already; or a program that
// is started with the agent, is held before main(), and ends with us.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/target/attachment.h"
#include "cmd/target/executed_programs.h"
#include "cmd/target/traced_child.h"
#include "serve/client.h"

namespace patchbay::cmd {

struct WatchedProgram {
  Attachment attachment;               // ends behind the client
  std::unique_ptr<TracedChild> child;  // null: a process that ran already
  std::unique_ptr<serve::Client> client;
  std::string directory;  // DIR/PID
  std::unique_ptr<ExecutedPrograms> executed;  // null: what it executes is not followed
  bool released = false;
  bool was_told_to_end = false;  // by a signal that the program has got, too

  // The process `pid`, which gets the agent for as long as we look, when it has none; 0: the only
  // one that has an agent.
  Status attach(int pid, const AttachOptions& options = {});
  // `buffer_kb`: of one CPU. `quiet`: what the program prints does not disturb our screen.
  // What it executes is followed, where that has anything of `wishes` (executed_programs.h).
  Status start(const std::vector<std::string>& words, uint64_t buffer_kb, bool quiet,
               const std::optional<FollowWishes>& wishes = std::nullopt);
  // A program that one of ours has executed.
  void adopt(ExecutedProgram& program);
  // From here on the program runs.
  Status release();
  // As TracedChild::wait(); `listener` hears what it executes meanwhile.
  TracedChild::Event wait(int timeout_ms, ExecListener& listener);
  // What it executes is not followed any more.
  void stop_following(ExecListener& listener);
  // That of a program of ours which has ended, or does so in a moment as a signal has told us and
  // it to; else 0. What it executes is not followed any more.
  int exit_status();
  bool ended() const { return client->gone() || (child && child->exited()); }
  // A program that we have started ends with us. One that is still held has never run. Its
  // directory is removed.
  ~WatchedProgram();
};

}  // namespace patchbay::cmd
