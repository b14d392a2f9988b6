// SPDX-License-Identifier: MIT
// Bytes as a person compares them: "48 89 e5".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace patchbay {

std::string hex_bytes(const uint8_t* bytes, size_t size);

}  // namespace patchbay
