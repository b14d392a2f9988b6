// SPDX-License-Identifier: MIT
// Names of the system calls of x86-64, for keys with .syscall.
#pragma once

#include <cstdint>
#include <string_view>

namespace patchbay {

// "read", without the kernel's "sys_"; empty: no such call.
std::string_view syscall_name(uint64_t number);

}  // namespace patchbay
