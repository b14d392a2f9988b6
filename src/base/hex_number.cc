// SPDX-License-Identifier: MIT
#include "base/hex_number.h"

#include <cstdio>

namespace patchbay {

std::string hex_number(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace patchbay
