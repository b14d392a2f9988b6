// SPDX-License-Identifier: MIT
//
// Memory for stubs within reach of a 32-bit displacement from code.
#pragma once

#include <cstddef>
#include <cstdint>

namespace patchbay {

// How far a stub may lie from the code it serves: 2 GiB less room for a module's own data, so that
// RIP-relative operands stay in reach.
inline constexpr uint64_t kStubReach = (uint64_t{1} << 31) - (uint64_t{256} << 20);

inline bool within_reach(uint64_t a, uint64_t b) { return (a > b ? a - b : b - a) < kStubReach; }

// Maps `size` bytes (a multiple of the page) readable and executable, private, in a gap of the
// address space near `code`. 0 when there is none.
uint64_t map_near(uint64_t code, size_t size);

}  // namespace patchbay
