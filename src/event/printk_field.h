// SPDX-License-Identifier: MIT
//
// One converted argument of printk as text, as printf has it in the C locale, but for floats. For
// the packer in traced threads (PrintkPack::kMade) and for readers: no libc, no allocation, never
// more than `room` characters.
#pragma once

#include <cstdint>

#include "event/printk_format.h"

namespace patchbay {

// Text that is cut where the room ends.
struct PrintkOut {
  char* at;
  char* end;

  void put(char c) {
    if (at < end) *at++ = c;
  }
  void repeat(char c, int32_t count) {
    for (; count > 0 && at < end; count--) *at++ = c;
  }
  void text(const char* from, uint32_t length) {
    for (uint32_t i = 0; i < length && at < end; i++) *at++ = from[i];
  }
};

// A width or precision as it turned out: an argument that is negative means the flag `-`, or none.
inline void resolve_printk_width(PrintkSpec* spec, int32_t width) {
  if (width < 0) {
    spec->flags |= kPrintkMinus;
    width = width == INT32_MIN ? kPrintkMaxWidth : -width;
  }
  spec->width = int16_t(width > kPrintkMaxWidth ? kPrintkMaxWidth : width);
}
inline void resolve_printk_precision(PrintkSpec* spec, int32_t precision) {
  if (precision < 0) precision = kPrintkNone;
  spec->precision = int16_t(precision > kPrintkMaxWidth ? kPrintkMaxWidth : precision);
}

// `text` padded to the width.
inline void put_printk_padded(PrintkOut* out, const PrintkSpec& spec, const char* text,
                              uint32_t length) {
  const int32_t missing = spec.width - int32_t(length);
  if (!(spec.flags & kPrintkMinus)) out->repeat(' ', missing);
  out->text(text, length);
  if (spec.flags & kPrintkMinus) out->repeat(' ', missing);
}

namespace printk_field {

inline constexpr uint32_t kMaxDigits = 22;  // of 64 bits, octal

// From the end backwards; returns how many.
inline uint32_t digits(uint64_t value, uint32_t base, bool upper, char* end) {
  const char* const set = upper ? "0123456789ABCDEF" : "0123456789abcdef";
  uint32_t count = 0;
  for (; value; value /= base) *(end - ++count) = set[value % base];
  return count;
}

}  // namespace printk_field

// `prefix`: a sign, 0x …; zeros of the precision, or of the flag 0, come behind it.
inline void put_printk_digits(PrintkOut* out, const PrintkSpec& spec, const char* prefix,
                              uint32_t prefix_length, const char* text, uint32_t length) {
  const int32_t least = spec.precision == kPrintkNone ? 1 : spec.precision;
  int32_t zeros = least - int32_t(length);
  if (zeros < 0) zeros = 0;
  int32_t missing = spec.width - int32_t(prefix_length + length) - zeros;
  const bool fills = (spec.flags & (kPrintkZero | kPrintkMinus)) == kPrintkZero;
  if (fills && spec.precision == kPrintkNone && missing > 0) {
    zeros += missing;
    missing = 0;
  }
  if (!(spec.flags & kPrintkMinus)) out->repeat(' ', missing);
  out->text(prefix, prefix_length);
  out->repeat('0', zeros);
  out->text(text, length);
  if (spec.flags & kPrintkMinus) out->repeat(' ', missing);
}

// d u x X o, of a value that was extended to 64 bits.
inline void put_printk_integer(PrintkOut* out, const PrintkSpec& spec, uint64_t value) {
  char prefix[2];
  uint32_t prefix_length = 0;
  if (spec.type == 'd') {
    if (int64_t(value) < 0) {
      prefix[prefix_length++] = '-';
      value = 0 - value;
    } else if (spec.flags & (kPrintkPlus | kPrintkBlank)) {
      prefix[prefix_length++] = spec.flags & kPrintkPlus ? '+' : ' ';
    }
  }
  const bool is_hex = (spec.type | 0x20) == 'x';
  if (is_hex && (spec.flags & kPrintkHash) && value) {
    prefix[prefix_length++] = '0';
    prefix[prefix_length++] = spec.type;
  }
  char buffer[printk_field::kMaxDigits + 1];
  char* const end = buffer + sizeof buffer;
  uint32_t count = printk_field::digits(value,
                                        is_hex             ? 16
                                        : spec.type == 'o' ? 8
                                                           : 10,
                                        spec.type == 'X', end);
  const int32_t least = spec.precision == kPrintkNone ? 1 : spec.precision;
  if (spec.type == 'o' && (spec.flags & kPrintkHash) && int32_t(count) >= least)
    *(end - ++count) = '0';
  put_printk_digits(out, spec, prefix, prefix_length, end - count, count);
}

// As glibc: 0x1234, (nil).
inline void put_printk_pointer(PrintkOut* out, const PrintkSpec& spec, uint64_t value) {
  if (!value) return put_printk_padded(out, spec, "(nil)", 5);
  PrintkSpec hex = spec;
  hex.type = 'x';
  hex.flags |= kPrintkHash;
  put_printk_integer(out, hex, value);
}

// An argument's word as the conversion takes it: cut to its size, extended.
inline uint64_t printk_value(const PrintkSpec& spec, uint64_t word) {
  if (spec.size >= 8) return word;
  const uint32_t unused = 64 - spec.size * 8u;
  word <<= unused;
  return spec.type == 'd' ? uint64_t(int64_t(word) >> unused) : word >> unused;
}

}  // namespace patchbay
