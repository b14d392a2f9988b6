// SPDX-License-Identifier: MIT
// Which CPU a thread of the program runs on, as restartable sequences know it (rseq(2)).
#pragma once

#include <sys/syscall.h>

#include <cstdint>

#include "base/raw_syscall.h"

namespace patchbay {

extern "C" {
// Offset of the thread's struct rseq from the thread pointer; 0 where rseq must not be used (no
// rseq in this libc or kernel, valgrind, no invariant TSC). Set once by the agent.
extern int64_t pb_rseq_offset __attribute__((visibility("hidden")));
// Of struct rseq, as this libc registers it; 0: not known. Set once by the agent.
extern uint32_t pb_rseq_size __attribute__((visibility("hidden")));

// Asks the kernel whether this thread is registered (two system calls). False also where something
// else answers in the kernel's place (seccomp). Async-signal-safe, without libc.
bool rseq_is_registered() __attribute__((cold, visibility("hidden")));

// Of libc's thread id from the thread pointer (base/libc_thread.h); 0: not known. Set once by the
// agent.
extern int64_t pb_libc_tid_offset __attribute__((visibility("hidden")));
// Whether libc has made this thread, by the thread's id. Not so in a task that runs on the storage
// of another one (vfork, clone): what it writes there is the other one's. False where that is not
// known.
bool is_libcs_thread() __attribute__((cold, visibility("hidden")));

// Registers this thread, which libc has begun and will register itself a little later; until
// return_rseq(), which leaves everything as libc expects it. False: it is not such a thread, or the
// kernel refuses. The caller sees to it that nothing of ours in a signal handler believes the
// thread to be registered meanwhile. Async-signal-safe, without libc.
struct BorrowedRseq {
  uint32_t words[8];  // of the area, as they were
};
bool borrow_rseq(BorrowedRseq* was) __attribute__((cold, visibility("hidden")));
void return_rseq(const BorrowedRseq* was) __attribute__((cold, visibility("hidden")));
}

// The area of a thread that libc registers none for (agent/own_rseq.cc). It lasts as long as the
// thread.
inline constexpr uint32_t kOwnRseqSize = 32;
extern "C" {
// Whether pb_rseq_offset is that of these areas.
bool rseq_is_own() __attribute__((visibility("hidden")));
int64_t own_rseq_offset() __attribute__((visibility("hidden")));
// Registers this thread's, which is one of libc's. False: the kernel refuses, or the program has
// one of its own.
bool register_own_rseq() __attribute__((cold, visibility("hidden")));
void unregister_own_rseq() __attribute__((cold, visibility("hidden")));
}

// What pb_rseq_size has to be, asked on a thread that libc has registered; 0: nobody says.
uint32_t find_rseq_size(int64_t offset);

inline uint64_t thread_pointer() {
  uint64_t pointer;
  asm("movq %%fs:0, %0" : "=r"(pointer));
  return pointer;
}

// rseq.cpu_id of this thread: negative when registering it has failed. A new thread has any number
// until libc registers it (ring_buffer/thread_rseq.h). Only where pb_rseq_offset is set.
inline int32_t rseq_cpu_id() {
  constexpr int kCpuId = 1;  // of struct rseq, in words
  return reinterpret_cast<const volatile int32_t*>(thread_pointer() +
                                                   uint64_t(pb_rseq_offset))[kCpuId];
}

// The CPU that this thread runs on, from its rseq area or from the kernel. Any CPU, of one that
// libc has not registered yet.
inline uint32_t current_cpu() {
  if (pb_rseq_offset) {
    const int32_t cpu = rseq_cpu_id();
    if (cpu >= 0) return uint32_t(cpu);
  }
  uint32_t cpu = 0;
  raw_syscall(SYS_getcpu, raw_pointer(&cpu));
  return cpu;
}

}  // namespace patchbay
