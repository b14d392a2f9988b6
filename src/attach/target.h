// SPDX-License-Identifier: MIT
//
// A process as an identity: who it was when it was first looked at. Its number alone may be another
// process's a moment later, and after an exec of a set-user-id program the same process is another
// user's. So nothing is written into a process by its number.
//
//   open()      /proc/PID      a directory of this very process: after its end everything in it
//     |                        answers ESRCH, also when the number is given out again
//     |         ids, image     effective and other ids, capabilities, the file that it executes
//     |         mem            its memory as it is now: the kernel binds the descriptor to the
//     |                        address space. After an exec it leads to the old one, and so nowhere
//     |         ids, image     the same ones: `mem` is that program's
//     v
//   write()     through `mem` only: a program that was executed later cannot be reached by it
//   is_same()   asked when threads stand, before registers or masks of one are set. A thread that
//               is traced cannot execute a program unseen (PTRACE_O_TRACEEXEC), and one that is
//               not traced ends those that are: what was looked at then stays so
//
// docs/threat_model.md has what this keeps out.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace patchbay::attach {

class Target {
 public:
  // ESRCH: there is no such process, or it is just executing another program. Else why the kernel
  // does not open its memory.
  static Result<Target> open(pid_t pid);

  pid_t pid() const { return pid_; }
  // Who it was; its effective ids.
  uid_t uid() const { return ids_.uid; }
  gid_t gid() const { return ids_.gid; }

  // Memory of the program that it was, whatever its protection. A write is done as a whole or it
  // fails: EFAULT where there is none, ESRCH where another program was executed.
  Status read(uint64_t address, void* out, size_t size) const;
  Status write(uint64_t address, const void* data, size_t size) const;

  // ESRCH: it has ended, executed another program, or changed its ids or capabilities.
  Status is_same() const;
  // The same for one of its threads that has stopped, by the quickest looks: the thread is one of
  // this process, whose image and effective ids are those that they were.
  Status is_thread_same(pid_t tid) const;
  std::vector<pid_t> threads() const;
  bool has_thread(pid_t tid) const;

  // A copy of the descriptor `theirs` of the process. The error is the kernel's.
  Result<UniqueFd> take_descriptor(int theirs) const;

 private:
  struct Ids {
    uid_t uid = 0;
    gid_t gid = 0;
    dev_t device = 0;  // of the file that it executes
    ino_t inode = 0;
    bool operator==(const Ids&) const = default;
  };
  Target() = default;
  Result<Ids> ids() const;
  Result<std::string> credentials() const;
  Error is_another() const;
  Error failed(const char* verb, ssize_t moved) const;

  pid_t pid_ = 0;
  UniqueFd directory_, memory_, process_;
  Ids ids_;
  std::string credentials_;  // the lines of its status that say what it may
};

}  // namespace patchbay::attach
