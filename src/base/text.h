// SPDX-License-Identifier: MIT
// Characters, words and numbers of a text. The classes of characters are ASCII's in every locale:
// <cctype> asks the locale of the program that carries the agent.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace patchbay {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
// The characters of a C identifier.
constexpr bool is_name_start(char c) { return is_letter(c) || c == '_'; }
constexpr bool is_name_char(char c) { return is_name_start(c) || is_digit(c); }
// The characters of a name in a program: compilers take letters of all scripts, which are UTF-8 in
// symbols. Names of events and fields are of C's characters alone (ascii_name()): other readers of
// format files take no others.
constexpr bool is_beyond_ascii(char c) { return uint8_t(c) >= 0x80; }
constexpr bool is_word_start(char c) { return is_name_start(c) || is_beyond_ascii(c); }
constexpr bool is_word_char(char c) { return is_name_char(c) || is_beyond_ascii(c); }
// The kernel's isspace().
inline constexpr std::string_view kSpaces = " \t\n\v\f\r";
constexpr bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Of a hexadecimal digit; kNoDigit for another character.
inline constexpr int kNoDigit = 99;
constexpr int digit_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return kNoDigit;
}

constexpr std::string_view trim_front(std::string_view text, std::string_view blanks = kSpaces) {
  const size_t first = text.find_first_not_of(blanks);
  return first == text.npos ? text.substr(text.size()) : text.substr(first);
}
constexpr std::string_view trim_back(std::string_view text, std::string_view blanks = kSpaces) {
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}
constexpr std::string_view trim(std::string_view text, std::string_view blanks = kSpaces) {
  return trim_back(trim_front(text, blanks), blanks);
}

// What stands between blanks; no word is empty.
std::vector<std::string_view> split_words(std::string_view text, std::string_view blanks = kSpaces);
// Cuts off what stands in front of the first `end`, and this `end`; everything when there is none.
std::string_view cut_at(std::string_view* text, char end);
// The newline at the end of the last line may be missing.
std::vector<std::string> split_lines(std::string_view text);

// "a, b, c". `Words` are strings of any kind.
template <typename Words>
std::string join(const Words& words, std::string_view between) {
  std::string text;
  bool is_first = true;
  for (const auto& word : words) {
    if (!is_first) text += between;
    text += word;
    is_first = false;
  }
  return text;
}

// "/usr/lib/libc.so.6" -> "libc.so.6".
constexpr std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// The whole text is a number that fits in `value`; else `value` stays as it was. A sign is fine
// where the type has one.
template <typename Number>
bool to_number(std::string_view text, Number* value, [[maybe_unused]] int base = 10) {
  const char* const end = text.data() + text.size();
  Number number{};
  std::from_chars_result read;
  if constexpr (std::is_floating_point_v<Number>)
    read = std::from_chars(text.data(), end, number);
  else
    read = std::from_chars(text.data(), end, number, base);
  if (read.ec != std::errc() || read.ptr != end) return false;
  *value = number;
  return true;
}

// A letter beyond ASCII as C spells it, with a '_' for the backslash: "l\xc3\xa4nge" ->
// "l_u00e4nge". What is no UTF-8 becomes '_'.
std::string ascii_name(std::string_view name);
// How far a caret below the end of a text is from its beginning: characters of UTF-8.
size_t nr_columns(std::string_view text);
// "0x1f", no padding.
std::string hex_number(uint64_t value);
// "48 89 e5".
std::string hex_bytes(const uint8_t* bytes, size_t size);

}  // namespace patchbay
