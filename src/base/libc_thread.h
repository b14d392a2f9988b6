// SPDX-License-Identifier: MIT
// What libc tells debuggers about its struct pthread, which begins at the thread pointer
// (nptl_db; glibc's nptl_db/structs.def).
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>

namespace patchbay {

inline constexpr uint32_t kMostPthreadBytes = 16384;

// Bytes; 0: not known.
inline size_t size_of_pthread() {
  const auto* size = static_cast<const uint32_t*>(
      ::dlvsym(RTLD_DEFAULT, "_thread_db_sizeof_pthread", "GLIBC_PRIVATE"));
  return size && *size <= kMostPthreadBytes ? *size : 0;
}

// Offset of the thread's id, an int32_t; 0: not known.
inline int64_t offset_of_pthread_tid() {
  struct Field {
    uint32_t bits, elements, offset;
  };
  const auto* field = static_cast<const Field*>(
      ::dlvsym(RTLD_DEFAULT, "_thread_db_pthread_tid", "GLIBC_PRIVATE"));
  return field && field->bits == 32 && field->offset < kMostPthreadBytes ? field->offset : 0;
}

}  // namespace patchbay
