// SPDX-License-Identifier: MIT
// What libc tells debuggers about its struct pthread, which begins at the thread pointer
// (nptl_db; glibc's nptl_db/structs.def).
#pragma once

#include <dlfcn.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>

#include "base/raw_syscall.h"

namespace patchbay {

inline constexpr uint32_t kMostPthreadBytes = 16384;

// Bytes; 0: not known.
inline size_t size_of_pthread() {
  const auto* size = static_cast<const uint32_t*>(
      ::dlvsym(RTLD_DEFAULT, "_thread_db_sizeof_pthread", "GLIBC_PRIVATE"));
  return size && *size <= kMostPthreadBytes ? *size : 0;
}

// Offset of the thread's id, an int32_t; 0: not known. Asked on a thread that libc has made. Before
// glibc 2.34 only debuggers are told, and it stands where it stands ever since (x86-64).
inline int64_t offset_of_pthread_tid() {
  struct Field {
    uint32_t bits, elements, offset;
  };
  constexpr int64_t kOfOldLibc = 720;
  const auto* field = static_cast<const Field*>(
      ::dlvsym(RTLD_DEFAULT, "_thread_db_pthread_tid", "GLIBC_PRIVATE"));
  if (field) return field->bits == 32 && field->offset < kMostPthreadBytes ? field->offset : 0;
  const char* const thread = static_cast<const char*>(__builtin_thread_pointer());
  const int32_t tid = *reinterpret_cast<const volatile int32_t*>(thread + kOfOldLibc);
  return tid == raw_syscall(SYS_gettid) ? kOfOldLibc : 0;
}

}  // namespace patchbay
