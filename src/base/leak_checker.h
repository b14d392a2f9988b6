// SPDX-License-Identifier: MIT
//
// Whether LeakSanitizer is in the process. It looks for pointers in the heap and in data, but in no
// other mapping: what only these point to would be a leak to it.
#pragma once

#include <cstddef>

extern "C" __attribute__((weak, visibility("default"))) void __lsan_register_root_region(
    const void* begin, size_t size);

namespace patchbay {

inline bool has_leak_checker() { return &__lsan_register_root_region != nullptr; }

}  // namespace patchbay
