// SPDX-License-Identifier: MIT
// CLOCK_MONOTONIC as one number. Code that must not call libc has raw_monotonic_ns()
// (base/raw_syscall.h).
#pragma once

#include <time.h>

#include <cstdint>

namespace patchbay {

inline uint64_t monotonic_ns() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}
inline int64_t monotonic_ms() { return int64_t(monotonic_ns() / 1'000'000); }

}  // namespace patchbay
