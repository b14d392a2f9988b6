// SPDX-License-Identifier: MIT
// A number or an address as texts and messages show it: "0x1f", no padding.
#pragma once

#include <cstdint>
#include <string>

namespace patchbay {

std::string hex_number(uint64_t value);

}  // namespace patchbay
