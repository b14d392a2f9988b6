// SPDX-License-Identifier: MIT
//
// Where a thread has its errno: in libc's thread-local storage, which every thread has from its
// begin, as far from its thread pointer as the thread that compiles has it.
#pragma once

#include <cerrno>
#include <cstdint>

namespace patchbay {

inline uint64_t errno_offset() {
  return reinterpret_cast<uint64_t>(&errno) -
         reinterpret_cast<uint64_t>(__builtin_thread_pointer());
}

}  // namespace patchbay
