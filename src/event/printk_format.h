// SPDX-License-Identifier: MIT
//
// A printf format of printk, taken apart: which bytes of each argument go into the record, and how
// readers show them. Needs no libc; runs in traced threads too (probe/records/printk_hot.cc).
//
// A record of ftrace:bprint names its format and has the arguments in `u32 buf[]`, one behind the
// other, as the kernel's vbin_printf() packs them:
//
//   kWord    4 bytes, aligned to 4: int and smaller types, extended as the conversion says
//   kLong    8 bytes, aligned to 4: long, long long, size_t, pointers
//   kDouble  8 bytes, aligned to 4: also a long double. A width and a precision that are arguments
//            stand before it as kWord
//   kString  the bytes and a NUL, not aligned
//   kMade    the conversion is done when the record is made, and its text is packed as kString
//
// kMade is for conversions that programs for the kernel's records do not know: the flags `-`, `+`
// and blank, widths and precisions that are arguments, %c, a %p with a width. (They do not know %f
// either. Readers convert it all the same, because it is much work.) foreign_format() is the format
// as such programs read it: printk_formats and trace.dat have it so.
//
// A conversion that printf knows and this does not (%n, %ls, %lc, %m, %1$d) ends the conversions:
// it and everything behind it is text.
#pragma once

#include <cstdint>

namespace patchbay {

enum class PrintkPack : uint8_t { kText, kWord, kLong, kDouble, kString, kMade, kPercent };

enum : uint8_t {
  kPrintkMinus = 1,
  kPrintkPlus = 2,
  kPrintkBlank = 4,
  kPrintkHash = 8,
  kPrintkZero = 16,
};
inline constexpr int16_t kPrintkNone = -1, kPrintkArgument = -2;  // width, precision
inline constexpr int16_t kPrintkMaxWidth = 512;

// One conversion.
struct PrintkSpec {
  PrintkPack pack = PrintkPack::kText;
  char type = 0;                    // d u x X o p s c e f g a E F G A
  uint8_t flags = 0;                // kPrintkMinus …
  uint8_t size = 4;                 // of the argument: 1 2 4 8; 16: long double
  int16_t width = kPrintkNone;      // kPrintkArgument: *
  int16_t precision = kPrintkNone;  // kPrintkArgument: .*

  bool is_float() const {
    const char lower = char(type | 0x20);
    return (lower >= 'e' && lower <= 'g') || lower == 'a';
  }
};

// A piece of a format: text up to the next %, or one conversion.
struct PrintkPiece : PrintkSpec {
  uint32_t begin = 0, end = 0;  // in the format
};

namespace printk_format {

inline uint8_t flag_of(char c) {
  switch (c) {
    case '-':
      return kPrintkMinus;
    case '+':
      return kPrintkPlus;
    case ' ':
      return kPrintkBlank;
    case '#':
      return kPrintkHash;
    case '0':
      return kPrintkZero;
    default:
      return 0;
  }
}

// A number or `*` at *at. False: it is too large.
inline bool take_number(const char* format, uint32_t* at, int16_t* number) {
  if (format[*at] == '*') {
    (*at)++;
    *number = kPrintkArgument;
    return true;
  }
  int32_t value = 0;
  while (format[*at] >= '0' && format[*at] <= '9') {
    value = value * 10 + (format[(*at)++] - '0');
    if (value > kPrintkMaxWidth) return false;
  }
  *number = int16_t(value);
  return true;
}

// hh h l ll j z t L: the size of an integer argument; `long_double` for L.
inline uint8_t take_length(const char* format, uint32_t* at, bool* is_long_double) {
  const char c = format[*at];
  *is_long_double = c == 'L';
  if (c == 'h' || c == 'l') {
    const bool twice = format[++*at] == c;
    if (twice) (*at)++;
    if (c == 'l') return 8;
    return twice ? 1 : 2;
  }
  if (c != 'j' && c != 'z' && c != 't' && c != 'L') return 4;
  (*at)++;
  return 8;
}

inline PrintkPack pack_integer(const PrintkSpec& piece) {
  if (piece.flags & (kPrintkMinus | kPrintkPlus | kPrintkBlank)) return PrintkPack::kMade;
  if (piece.width == kPrintkArgument || piece.precision == kPrintkArgument)
    return PrintkPack::kMade;
  return piece.size == 8 ? PrintkPack::kLong : PrintkPack::kWord;
}

// The conversion character. False: one that is not known, or not with this length.
inline bool take_type(char c, bool has_length, bool is_long_double, PrintkSpec* piece) {
  piece->type = c == 'i' ? 'd' : c;
  switch (piece->type) {
    case 'd':
    case 'u':
    case 'x':
    case 'X':
    case 'o':
      piece->pack = pack_integer(*piece);
      return true;
    case 'c':
      piece->pack = PrintkPack::kMade;
      piece->size = 4;
      return !has_length;
    case 'p':
      piece->size = 8;
      piece->pack = piece->flags || piece->width != kPrintkNone || piece->precision != kPrintkNone
                        ? PrintkPack::kMade
                        : PrintkPack::kLong;
      return !has_length;
    case 's':
      piece->size = 8;
      piece->pack =
          piece->flags || piece->width == kPrintkArgument || piece->precision == kPrintkArgument
              ? PrintkPack::kMade
              : PrintkPack::kString;
      return !has_length;
    default:
      piece->size = is_long_double ? 16 : 8;
      piece->pack = PrintkPack::kDouble;
      return piece->is_float();
  }
}

// Behind a %. False: nothing that is known.
inline bool take_conversion(const char* format, uint32_t at, PrintkPiece* piece) {
  for (uint8_t flag; (flag = flag_of(format[at])) != 0 || format[at] == '\''; at++)
    piece->flags |= flag;
  const bool has_width = format[at] == '*' || (format[at] >= '1' && format[at] <= '9');
  if (has_width && !take_number(format, &at, &piece->width)) return false;
  if (format[at] == '.') {
    at++;
    if (!take_number(format, &at, &piece->precision)) return false;
  }
  const uint32_t length_at = at;
  bool is_long_double = false;
  piece->size = take_length(format, &at, &is_long_double);
  const char c = format[at];
  piece->end = at + 1;
  if (c == '\0' || (format[length_at] == 'h' && (c == 'f' || c == 'e' || c == 'g'))) return false;
  return take_type(c, at != length_at, is_long_double, piece);
}

}  // namespace printk_format

// The piece that begins at `at` of a NUL-terminated format; false: that is its end. Text and
// conversions alternate; "%%" is kPercent, as a conversion without an argument.
inline bool next_printk_piece(const char* format, uint32_t at, PrintkPiece* piece) {
  if (format[at] == '\0') return false;
  *piece = {};
  piece->begin = at;
  if (format[at] == '%') {
    piece->end = at + 2;
    if (format[at + 1] == '%') {
      piece->pack = PrintkPack::kPercent;
      return true;
    }
    if (printk_format::take_conversion(format, at + 1, piece)) return true;
    *piece = {};
    piece->begin = at;
    while (format[at]) at++;
    piece->end = at;
    return true;
  }
  while (format[at] && format[at] != '%') at++;
  piece->end = at;
  return true;
}

}  // namespace patchbay
