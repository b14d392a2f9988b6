// SPDX-License-Identifier: MIT
#include "output/format_args_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>

#include "event/function_event.h"
#include "output/text_put.h"
#include "output/trace_line.h"

namespace patchbay {

namespace {

struct Number {
  long double value;
  bool is_long;  // a long double
};

// "-0x1.ap+1", "0xc.8p-2L"; nothing of any other word.
std::optional<Number> number_in(std::string_view word) {
  const bool is_negative = word.starts_with('-'), is_long = word.ends_with('L');
  word.remove_prefix(is_negative);
  if (!word.starts_with("0x")) return std::nullopt;
  word.remove_prefix(2);
  word.remove_suffix(is_long);
  const size_t p = word.find('p');
  if (p == word.npos) return std::nullopt;
  std::string digits(word.substr(0, p));
  const size_t point = digits.find('.');
  const size_t nr_fraction = point == digits.npos ? 0 : digits.size() - point - 1;
  if (point != digits.npos) digits.erase(point, 1);
  uint64_t mantissa = 0;
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, mantissa, 16);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  std::string_view exponent = word.substr(p + 1);
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  int power = 0;
  const char* const stop = exponent.data() + exponent.size();
  const auto last = std::from_chars(exponent.data(), stop, power);
  if (last.ec != std::errc() || last.ptr != stop) return std::nullopt;
  const long value = std::clamp<long>(power, -100'000, 100'000) - long(4 * nr_fraction);
  const long double number = std::ldexp(static_cast<long double>(mantissa), int(value));
  return Number{is_negative ? -number : number, is_long};
}

// Behind a text that begins at `at`, its quote.
size_t end_of_quoted(std::string_view text, size_t at) {
  const char quote = text[at];
  for (size_t i = at + 1; i < text.size(); i++) {
    if (text[i] == quote) return i + 1;
    if (text[i] == '\\') i++;
  }
  return text.size();
}

void append_word(std::string* out, std::string_view word, bool escape) {
  if (const std::optional<Number> number = number_in(word))
    return number->is_long ? put_long_double(out, number->value)
                           : put_float(out, double(number->value));
  const bool is_long = word == "infL" || word == "-infL" || word == "nanL" || word == "-nanL";
  word.remove_suffix(is_long);
  if (escape) return append_escaped(out, word);
  *out += word;
}

}  // namespace

bool is_format_args(const EventField& field) {
  return field.name == kFormatArgsField && field.type == "__data_loc char[]";
}

void append_format_args(std::string* out, std::string_view text, bool escape) {
  for (size_t at = 0; at < text.size();) {
    const bool is_quoted = text[at] == '"' || text[at] == '\'';
    const size_t end = is_quoted ? end_of_quoted(text, at)
                                 : std::min(text.find_first_of(" ,\"'", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (!is_quoted)
      append_word(out, word, escape);
    else if (escape)
      append_escaped(out, word);
    else
      *out += word;
    at = end;
    const size_t behind = std::min(text.find_first_not_of(" ,", at), text.size());
    out->append(text.substr(at, behind - at));
    at = behind;
  }
}

}  // namespace patchbay
