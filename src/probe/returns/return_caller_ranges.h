// SPDX-License-Identifier: MIT
//
// The control side of return_callers.h.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace patchbay {

// [first, second), in any order.
using AddressRanges = std::vector<std::pair<uint64_t, uint64_t>>;

// Under the agent's lock.
void set_return_callers(AddressRanges walked, AddressRanges objects);

}  // namespace patchbay
