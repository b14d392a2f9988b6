// SPDX-License-Identifier: MIT
// The kernel's way to answer with a pointer or an errno (ERR_PTR of patchbay/kernel.h).
#pragma once

#include <cstdint>

namespace patchbay {

// Neither NULL nor an errno. Async-signal-safe.
inline bool is_pointer(const void* pointer) {
  constexpr uint64_t kErrnos = 4096;
  return reinterpret_cast<uint64_t>(pointer) - 1 < 0 - kErrnos;
}

}  // namespace patchbay
