// SPDX-License-Identifier: MIT
// The steps of a conversion are those of glibc's vfprintf: flags, width, precision, length, letter.
#include "fetch/format_args.h"

#include "fetch/fetch_abi.h"
#include "hot/safe_load.h"

namespace patchbay {

namespace {

constexpr uint32_t kVectorArgs = 8, kIntegerArgs = 6;
constexpr uint32_t kTail = 12;  // what ends a text and the list has room: "... , ...
constexpr uint64_t kEndless = ~uint64_t{0};

struct Conversion {
  uint64_t precision = kEndless;  // there is none
  uint8_t size = 4;               // of an integer, in bytes
  bool is_long_double = false;
  bool is_short = false;  // h, hh: of integers alone
  uint8_t letter = 0;
  bool is_long() const { return size == 8; }
};

class FormatArgs {
 public:
  FormatArgs(uint8_t* at, uint64_t format, const FetchRegisters* registers, FormatPlaces places)
      : begin_(at),
        at_(at),
        stop_(at + kFormatArgsBytes - 1 - kTail),
        format_(format),
        registers_(registers),
        integer_(places.integer),
        vector_(places.vector),
        overflow_(registers->reg[4] + 8 + 8 * uint64_t{places.stack}) {}

  uint32_t run() {
    while (step()) {
    }
    *at_++ = 0;
    return uint32_t(at_ - begin_);
  }

 private:
  // --- the format

  // False: it ends here.
  bool step() {
    uint8_t c;
    if (!next(&c)) return nr_read_ < kMostFormatBytes ? unknown() : cut();
    if (!c) return false;
    if (c != '%') return true;
    Conversion conversion;
    if (!read_conversion(&conversion)) return false;
    return show(conversion);
  }

  bool peek(uint8_t* c) {
    uint64_t value;
    if (is_bad_ || !try_load1(format_, &value)) return !(is_bad_ = true);
    *c = uint8_t(value);
    return true;
  }
  bool next(uint8_t* c) {
    if (nr_read_ >= kMostFormatBytes || !peek(c)) return false;
    format_++;
    nr_read_++;
    return true;
  }
  bool take_if(uint8_t wanted) {
    uint8_t c;
    if (!peek(&c) || c != wanted) return false;
    return next(&c);
  }
  static bool is_one_of(uint8_t c, const char* list) {
    for (; *list; list++)
      if (c == uint8_t(*list)) return true;
    return false;
  }
  uint64_t number() {
    uint64_t value = 0;
    uint8_t c;
    while (peek(&c) && c >= '0' && c <= '9' && next(&c))
      value = value < (1u << 30) ? value * 10 + (c - '0') : value;
    return value;
  }

  // Up to its letter. False: nothing can be known of what is behind it, and that has been said.
  bool read_conversion(Conversion* out) {
    uint8_t c;
    while (peek(&c) && is_one_of(c, "-+ #0'I") && next(&c)) {
    }
    if (!read_number(nullptr)) return false;
    if (take_if('.')) {
      out->precision = 0;
      if (!read_number(&out->precision)) return false;
    }
    read_length(out);
    if (!next(&out->letter)) return unknown();
    return true;
  }

  // A width or a precision: digits, or a '*' with an argument of its own, which is shown.
  bool read_number(uint64_t* precision) {
    if (!take_if('*')) {
      const uint64_t digits = number();
      if (take_if('$')) return positional();
      if (precision) *precision = digits;
      return true;
    }
    uint8_t c;
    if (peek(&c) && c >= '0' && c <= '9') return positional();
    uint64_t value;
    if (!next_word(&value)) return unknown();
    if (precision) *precision = int32_t(value) < 0 ? kEndless : value & 0x7fffffff;
    if (!begin_value()) return false;
    put_signed(int32_t(value));
    return end_value();
  }

  void read_length(Conversion* out) {
    if (take_if('h')) {
      out->is_short = true;
      out->size = take_if('h') ? 1 : 2;
    } else if (take_if('l')) {
      out->size = 8;
      out->is_long_double = take_if('l');
    } else if (take_if('L') || take_if('q')) {
      out->size = 8;
      out->is_long_double = true;
    } else if (take_if('j') || take_if('z') || take_if('Z') || take_if('t')) {
      out->size = 8;
    }
  }

  // --- the arguments

  bool next_stack(uint64_t* value) {
    const bool is_read = try_load8(overflow_, value);
    overflow_ += 8;
    return is_read;
  }
  bool next_word(uint64_t* value) {
    if (integer_ >= kIntegerArgs) return next_stack(value);
    *value = registers_->arg[integer_++];
    return true;
  }
  // False: the caller says that it has passed none there.
  bool next_double(uint64_t* value) {
    if (vector_ >= kVectorArgs) return next_stack(value);
    const uint32_t passed = uint8_t(registers_->reg[0]);  // al
    *value = registers_->xmm[vector_][0];
    return vector_++ < passed;
  }
  bool next_long_double(uint64_t* mantissa, uint64_t* rest) {
    overflow_ = (overflow_ + 15) & ~uint64_t{15};
    const bool is_read = next_stack(mantissa);
    return next_stack(rest) && is_read;
  }

  // --- values

  bool show(const Conversion& conversion) {
    const uint8_t letter = conversion.letter;
    if (letter == '%' || letter == 'm') return true;
    const bool is_integer = is_one_of(letter, "diuoxXbBn");
    if (!is_integer && conversion.is_short) return unknown_letter(letter);
    if (is_one_of(letter, "aAeEfFgG")) return show_float(conversion);
    if (!is_integer && !is_one_of(letter, "csCSp")) return unknown_letter(letter);
    uint64_t value;
    if (!begin_value()) return false;
    if (!next_word(&value)) {
      put('?');
      return end_value();
    }
    if (letter == 's' || letter == 'S') {
      show_text(value, conversion.precision, letter == 'S' || conversion.is_long());
    } else if (letter == 'c' || letter == 'C') {
      show_character(value, letter == 'C' || conversion.is_long());
    } else if (letter == 'p' || letter == 'n') {
      put_pointer(value);
    } else {
      show_integer(value, conversion.size, letter);
    }
    return end_value();
  }

  void show_integer(uint64_t value, uint8_t size, uint8_t letter) {
    const uint32_t unused = 64 - 8 * size;
    if (letter == 'd' || letter == 'i') return put_signed(int64_t(value << unused) >> unused);
    value = value << unused >> unused;
    if (letter == 'u') return put_unsigned(value);
    if (letter == 'o') return put_octal(value);
    put('0');
    put('x');
    put_hex(value, 1);
  }

  bool show_float(const Conversion& conversion) {
    uint64_t value = 0, rest = 0;
    if (!begin_value()) return false;
    if (conversion.is_long_double) {
      next_long_double(&value, &rest) ? put_long_double(value, rest) : put('?');
    } else {
      next_double(&value) ? put_double(value) : put('?');
    }
    return end_value();
  }

  void show_character(uint64_t value, bool is_wide) {
    const auto code = uint32_t(value);
    if (is_wide) put('L');
    put('\'');
    if (is_wide && code >= 0x80) {
      put('\\');
      put('x');
      put_hex(code, 1);
    } else {
      put_escaped(uint8_t(value), '\'');
    }
    put('\'');
  }

  // A byte at a time: what a precision bounds may end with its page.
  void show_text(uint64_t address, uint64_t precision, bool is_wide) {
    if (!address || is_wide) {
      put_pointer(address);
      return address ? put_word(" (wide)") : void();
    }
    uint64_t c;
    if (precision && !try_load1(address, &c)) {
      put_pointer(address);
      return put_word(" (unreadable)");
    }
    constexpr int kLongest = 4;  // of an escape
    put('"');
    bool is_read = true;
    uint64_t done = 0;
    for (; done < precision; done++) {
      is_read = try_load1(address + done, &c);
      if (!is_read || !c) break;
      if (done >= kFormatTextBytes || stop_ - at_ < kLongest) return put_reserved("\"...");
      put_escaped(uint8_t(c), '"');
    }
    put_reserved("\"");
    if (!is_read) put_word(" (unreadable)");
  }

  // --- the list

  bool begin_value() {
    if (nr_values_ >= kMostConversions) return cut();
    value_begin_ = at_;
    if (nr_values_++) put_word(", ");
    return true;
  }
  bool end_value() {
    if (!is_full_) return true;
    at_ = value_begin_;
    nr_values_--;
    return cut();
  }
  bool cut() {
    put_reserved(nr_values_ ? ", ..." : "...");
    return false;
  }
  bool unknown() {
    if (!begin_value()) return false;
    put('?');
    (void)end_value();
    return false;
  }
  bool unknown_letter(uint8_t letter) {
    if (!begin_value()) return false;
    put_word("? (%");
    if (letter >= 0x20 && letter < 0x7f) put(letter);
    put(')');
    (void)end_value();
    return false;
  }
  bool positional() {
    if (!begin_value()) return false;
    put_word("? (positional)");
    (void)end_value();
    return false;
  }

  // --- bytes

  void put(uint8_t c) {
    if (at_ >= stop_) {
      is_full_ = true;
    } else {
      *at_++ = c;
    }
  }
  void put_word(const char* text) {
    for (; *text; text++) put(uint8_t(*text));
  }
  // Into the tail, if need be.
  void put_reserved(const char* text) {
    for (; *text; text++) *at_++ = uint8_t(*text);
  }

  void put_escaped(uint8_t c, uint8_t quote) {
    if (c == quote || c == '\\') put('\\');
    if (c >= 0x20 && c != 0x7f) return put(c);
    put('\\');
    if (c == '\n') return put('n');
    if (c == '\t') return put('t');
    if (c == '\r') return put('r');
    put('x');
    put_hex(c, 2);
  }
  void put_pointer(uint64_t address) {
    if (!address) return put_word("NULL");
    put_word("0x");
    put_hex(address, 1);
  }
  void put_hex(uint64_t value, uint32_t digits) {
    while (digits < 16 && value >> 4 * digits) digits++;
    for (; digits; digits--) put(hex_digit(value >> 4 * (digits - 1) & 15));
  }
  static uint8_t hex_digit(uint64_t value) {
    return uint8_t(value < 10 ? '0' + value : 'a' + value - 10);
  }
  void put_octal(uint64_t value) {
    if (value) put('0');
    int shift = value ? (63 - __builtin_clzll(value)) / 3 * 3 : 0;
    for (; shift >= 0; shift -= 3) put(uint8_t('0' + (value >> shift & 7)));
  }
  void put_unsigned(uint64_t value) {
    uint8_t digits[20];
    uint32_t count = 0;
    do {
      digits[count++] = uint8_t('0' + value % 10);
      value /= 10;
    } while (value);
    while (count) put(digits[--count]);
  }
  void put_signed(int64_t value) {
    if (value < 0) put('-');
    put_unsigned(value < 0 ? 0 - uint64_t(value) : uint64_t(value));
  }

  // `bits` are the digits of a fraction, the first in the four bits on top.
  void put_fraction(uint64_t bits, int64_t exponent) {
    if (bits) put('.');
    for (; bits; bits <<= 4) put(hex_digit(bits >> 60));
    put('p');
    if (exponent >= 0) put('+');
    put_signed(exponent);
  }
  void put_double(uint64_t value) {
    if (value >> 63) put('-');
    const auto exponent = int64_t(value >> 52 & 0x7ff);
    const uint64_t fraction = value << 12;
    if (exponent == 0x7ff) return put_word(fraction ? "nan" : "inf");
    put_word(exponent ? "0x1" : "0x0");
    const bool is_zero = !exponent && !fraction;
    put_fraction(fraction, is_zero ? 0 : exponent ? exponent - 1023 : -1022);
  }
  // An exponent without the mantissa's first bit is no number to the processor.
  void put_long_double(uint64_t mantissa, uint64_t rest) {
    if (rest >> 15 & 1) put('-');
    const auto exponent = int64_t(rest & 0x7fff);
    const bool is_odd = exponent && !(mantissa >> 63);
    if (exponent == 0x7fff || is_odd) {
      put_word(mantissa << 1 || is_odd ? "nan" : "inf");
    } else {
      put_word("0x");
      put(hex_digit(mantissa >> 60));
      put_fraction(mantissa << 4, !mantissa ? 0 : (exponent ? exponent : 1) - 16383 - 3);
    }
    put('L');
  }

  uint8_t* const begin_;
  uint8_t* at_;
  uint8_t* const stop_;
  uint8_t* value_begin_ = nullptr;
  bool is_full_ = false;
  uint32_t nr_values_ = 0;
  uint64_t format_;
  uint32_t nr_read_ = 0;
  bool is_bad_ = false;  // it cannot be read there
  const FetchRegisters* const registers_;
  uint32_t integer_, vector_;
  uint64_t overflow_;
};

}  // namespace

extern "C" uint32_t fetch_format_args(uint8_t* at, uint64_t format, const FetchRegisters* registers,
                                      FormatPlaces places) {
  return FormatArgs(at, format, registers, places).run();
}

}  // namespace patchbay
