// SPDX-License-Identifier: MIT
// Small writers of numbers into a text, and reads of unaligned bytes. Nothing here depends on the
// locale; nothing allocates but the text itself when it must grow. Pieces puts many small ones
// together.
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

// As a double, with '~' in front where that is not all of it.
inline void put_long_double(std::string* out, long double value) {
  const auto nearest = double(value);
  if (value == value && value != nearest) *out += '~';
  put_float(out, nearest);
}

// A number of 16 bytes.
inline void put_wide(std::string* out, unsigned __int128 value, bool is_signed, unsigned base) {
  const bool is_negative = is_signed && value >> 127;
  if (is_negative) value = -value;
  char digits[40];
  char* begin = digits + sizeof digits;
  do {
    *--begin = "0123456789abcdef"[value % base];
    value /= base;
  } while (value);
  if (is_negative) *--begin = '-';
  out->append(begin, size_t(digits + sizeof digits - begin));
}

inline constexpr char kTwoDigits[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

// Exactly `digits` of the value's last decimal digits, from `at` on; behind them.
inline char* put_digits(char* at, uint64_t value, int digits) {
  for (char* to = at + digits; to > at;) {
    if (to - at == 1) {
      *at = char('0' + value % 10);
      break;
    }
    to -= 2;
    std::memcpy(to, kTwoDigits + 2 * (value % 100), 2);
    value /= 100;
  }
  return at + digits;
}

inline int count_digits(uint64_t value) {
  int digits = 1;
  for (; value >= 10000; value /= 10000) digits += 4;
  return digits + (value >= 10) + (value >= 100) + (value >= 1000);
}

// Up to 32 bytes without a call.
inline void copy_short(char* to, const char* from, size_t size) {
  if (size >= 16) {
    std::memcpy(to, from, 16);
    std::memcpy(to + size - 16, from + size - 16, 16);
  } else if (size >= 8) {
    std::memcpy(to, from, 8);
    std::memcpy(to + size - 8, from + size - 8, 8);
  } else if (size >= 4) {
    std::memcpy(to, from, 4);
    std::memcpy(to + size - 4, from + size - 4, 4);
  } else {
    for (size_t i = 0; i < size; i++) to[i] = from[i];
  }
}

// Small pieces of a text, put together on the stack: append() costs more than such a piece. They
// are in the text after flush(), at the latest at the end of its life.
class Pieces {
 public:
  explicit Pieces(std::string* out) : out_(out) {}
  ~Pieces() { flush(); }
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  std::string* text() const { return out_; }  // after flush()
  [[gnu::noinline]] void flush() {
    out_->append(bytes_, used_);
    used_ = 0;
  }
  void put(std::string_view text) {
    if (text.size() > 32) return put_long(text);
    make_room(32);
    copy_short(bytes_ + used_, text.data(), text.size());
    used_ += text.size();
  }
  void put(char c) {
    make_room(1);
    bytes_[used_++] = c;
  }
  void put_unsigned(uint64_t value) {
    make_room(20);
    used_ = size_t(put_digits(bytes_ + used_, value, count_digits(value)) - bytes_);
  }
  void put_signed(int64_t value) {
    if (value < 0) put('-');
    put_unsigned(value < 0 ? 0 - uint64_t(value) : uint64_t(value));
  }
  void put_hex(uint64_t value) {
    make_room(16);
    used_ = size_t(std::to_chars(bytes_ + used_, bytes_ + sizeof bytes_, value, 16).ptr - bytes_);
  }

 private:
  void make_room(size_t size) {
    if (sizeof bytes_ - used_ < size) flush();
  }
  void put_long(std::string_view text) {
    flush();
    out_->append(text);
  }
  std::string* out_;
  size_t used_ = 0;
  char bytes_[256];
};

}  // namespace patchbay
