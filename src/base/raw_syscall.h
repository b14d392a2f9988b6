// SPDX-License-Identifier: MIT
//
// System calls without libc. The probe path calls nothing that can be traced. Code that rewrites
// code must not call a function that it may be rewriting. Neither may change errno.
#pragma once

#include <sys/syscall.h>

#include <cstdint>

namespace patchbay {

// The kernel's answer: a value, or -errno.
inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

inline long raw_pointer(const void* pointer) {
  return static_cast<long>(reinterpret_cast<uintptr_t>(pointer));
}

inline uint64_t raw_monotonic_ns() {
  long time[2] = {0, 0};
  raw_syscall(SYS_clock_gettime, 1 /* CLOCK_MONOTONIC */, raw_pointer(time));
  return uint64_t(time[0]) * 1000000000u + uint64_t(time[1]);
}
inline void raw_sched_yield() { raw_syscall(SYS_sched_yield); }

}  // namespace patchbay
