// SPDX-License-Identifier: MIT
//
// Which thread of a process may be stopped and made to call pthread_create(): one that holds no
// lock of the allocator. (The dynamic linker's locks and those that a program may hold do no harm:
// the thread itself needs none that is not recursive, and the new one waits for them.)
//
//   rank  where the thread is                                      why that is harmless
//   0     waits in epoll_wait, poll, accept, read of a pipe …      no allocator makes these
//   1     nanosleep; futex of a condition, a semaphore, a join     libc's allocator makes neither;
//                                                                  another one is seen on the stack
//   2     runs, in code that is neither libc's nor an allocator's  no allocator calls other code
//   -     everything else; a handler of a signal that has          the interrupted code may hold it
//         interrupted libc, the dynamic linker or an allocator
//
// /proc says where threads are; the chosen one is looked at again when it stands.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <vector>

#include "attach/process_maps.h"
#include "attach/target_process.h"

namespace patchbay::attach {

class ThreadChoice {
 public:
  // Reads what is mapped in the process.
  ThreadChoice(pid_t pid, const TargetLibc& libc);

  // Who comes into question. While a thread stands that has children, the end of one may give
  // another thread an EINTR (signal_rank in all_threads.cc). One that runs may have to be let go
  // again, and where threads have children it may make one just then. The only thread of a process
  // has no other whom it could disturb.
  enum class Among : uint8_t {
    kWaiting,    // those that wait, and have no children
    kChildless,  // also those that run, where no thread has children
    kAll,
  };
  // Those that may be stopped, the best first.
  std::vector<pid_t> candidates(Among among = Among::kAll) const;
  // Whether one of them may be used, now that it stands in the system call `number` (-1: none).
  // EAGAIN says why not.
  Status may_use(pid_t tid, long number, const user_regs_struct& registers) const;

 private:
  int rank(pid_t tid) const;  // -1: not to be used
  int rank_of_call(pid_t tid, long number, uint64_t first, uint64_t second, uint64_t pc) const;
  bool is_critical(uint64_t address) const;  // the dynamic linker's, or an allocator's
  const char* stack_refusal(uint64_t stack, bool sleeps) const;

  pid_t pid_;
  const TargetLibc& libc_;
  std::vector<MapLine> lines_;
  std::vector<Range> linker_, allocators_;
};

// Whether the object whose ELF header is mapped at `start` defines this function for others.
bool exports_function(pid_t pid, uint64_t start, std::string_view name);

}  // namespace patchbay::attach
