// SPDX-License-Identifier: MIT
#include "ship/ship_block.h"

#include "base/text.h"

namespace patchbay {

bool parse_boot_id(std::string_view text, std::array<uint8_t, 16>* id) {
  std::array<uint8_t, 16> read{};
  size_t digits = 0;
  for (const char c : text) {
    if (c == '-') continue;
    const int value = digit_value(c);
    if (value >= 16 || digits >= 32) return false;
    read[digits / 2] = uint8_t(read[digits / 2] << 4 | value);
    digits++;
  }
  if (digits != 32) return false;
  *id = read;
  return true;
}

std::string boot_id_text(const std::array<uint8_t, 16>& id) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < id.size(); i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[id[i] >> 4];
    text += kDigits[id[i] & 15];
  }
  return text;
}

}  // namespace patchbay
