// SPDX-License-Identifier: MIT
//
// The programs that one process executes, one after the other, as the commands follow them that
// measure a program of their own:
//
//   sh, with its agent           the command                      ls, with its agent
//     execve("/bin/ls")
//       "I execute /bin/ls" ---->  before_exec()   the last counts of sh
//       waits             <------
//       the system call                                             before main(): "I wait"
//                                  executed(ls)    sets it up  <----
//                                  go on           ------------>    main()
//
// The children of the process are left alone (abi/follow_abi.h, FollowSlots::only_pid).
#pragma once

#include <sys/types.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cmd/target/follow_tree.h"
#include "cmd/target/running_process.h"
#include "serve/client.h"

namespace patchbay::cmd {

// What a process has become.
struct ExecutedProgram {
  std::string exe;
  std::unique_ptr<serve::Client> client;  // null: nothing of what is asked can be had of it
  std::string directory;                  // DIR/PID
  std::string reason;                     // why its agent is not there; empty: it has nothing
};

class ExecListener {
 public:
  virtual ~ExecListener() = default;
  // The process is about to execute another program, and waits. That may fail.
  virtual void before_exec() {}
  // That has failed.
  virtual void stays() {}
  // It has executed it. One with a client goes on when this returns.
  virtual void executed(ExecutedProgram program) = 0;
  // Whether the program that it was is gone.
  virtual bool current_is_gone() const = 0;
};

class ExecutedPrograms {
 public:
  // Before the process starts. `wishes` say which programs have anything of what is asked.
  static Result<std::unique_ptr<ExecutedPrograms>> make(const std::string& runtime,
                                                        FollowWishes wishes);
  // Removes what the programs have left in the runtime directory.
  ~ExecutedPrograms();

  const std::string& directory() const { return tree_->directory(); }  // for PATCHBAY_FOLLOW
  int descriptor() const { return tree_->descriptor(); }  // readable when there is something
  // The process is held before the main() of its first program.
  void first_waits(pid_t pid);

  // Hears what the process has said. `is_over`: it has ended.
  void look(ExecListener& listener, bool is_over = false);
  // The process is not followed any more, and does not wait for us.
  void close();

  // Whether forked children of a program of the process write to its buffer, and go on.
  bool is_written(const MappedBuffer& buffer);
  // What agents could not do, a sentence each. Each is taken once.
  std::vector<std::string> take_sentences() { return std::exchange(sentences_, {}); }

 private:
  ExecutedPrograms() = default;
  void hear(FollowSaid& said, ExecListener& listener);
  void arrive(const FollowSaid& said, ExecListener& listener);
  void let_others_go(const FollowSaid& said) const;

  std::unique_ptr<FollowTree> tree_;
  pid_t pid_ = 0;
  struct Left {
    ProgramDirectory directory;
    MappedBuffer buffer;
  };
  void add_directory(const ProgramDirectory& directory);
  std::vector<Left> left_;  // of the program that it is, and of earlier ones with children
  void add_children_of(pid_t pid, int depth);
  std::set<pid_t> children_;  // that were forked, and theirs
  std::vector<std::string> sentences_;
  std::string next_;    // the path that it is about to execute; empty: none
  std::string reason_;  // why that is not followed; empty: it is
  bool is_closed_ = false;
};

}  // namespace patchbay::cmd
