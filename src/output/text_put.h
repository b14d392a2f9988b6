// SPDX-License-Identifier: MIT
// Small writers of numbers into a text, and reads of unaligned bytes. Nothing here depends on the
// locale; nothing allocates but the text itself when it must grow.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace patchbay {

template <typename T>
T load(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename T>
void put_number(std::string* out, T value, int base = 10) {
  char digits[72];
  char* end = std::to_chars(digits, digits + sizeof digits, value, base).ptr;
  out->append(digits, size_t(end - digits));
}

// At least `width` characters, filled on the left.
inline void put_padded(std::string* out, uint64_t value, int width, char fill, int base = 10) {
  char digits[72];
  char* end = std::to_chars(digits, digits + sizeof digits, value, base).ptr;
  if (end - digits < width) out->append(size_t(width - (end - digits)), fill);
  out->append(digits, size_t(end - digits));
}

inline void put_hex(std::string* out, uint64_t value) { put_number(out, value, 16); }

// Two digits for one byte.
inline void put_hex_byte(std::string* out, uint8_t byte) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const char text[2] = {kDigits[byte >> 4], kDigits[byte & 15]};
  out->append(text, 2);
}

// Shortest text that reads back as the same value, never in exponent form for everyday sizes.
template <typename T>
void put_float(std::string* out, T value) {
  char digits[64];
  char* end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out->append(digits, size_t(end - digits));
}

}  // namespace patchbay
