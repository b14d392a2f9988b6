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
}

// rseq.cpu_id of this thread: negative when it is not registered. Only where pb_rseq_offset is set.
inline int32_t rseq_cpu_id() {
  constexpr int kCpuId = 1;  // of struct rseq, in words
  uint64_t thread_pointer;
  asm("movq %%fs:0, %0" : "=r"(thread_pointer));
  return reinterpret_cast<const volatile int32_t*>(thread_pointer +
                                                   uint64_t(pb_rseq_offset))[kCpuId];
}

// The CPU that this thread runs on, from its rseq area or from the kernel.
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
