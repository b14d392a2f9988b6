// SPDX-License-Identifier: MIT
#include "base/text.h"

#include <algorithm>

namespace patchbay {

std::vector<std::string_view> split_words(std::string_view text, std::string_view blanks) {
  std::vector<std::string_view> words;
  for (size_t at = 0; (at = text.find_first_not_of(blanks, at)) != text.npos;) {
    const size_t end = std::min(text.find_first_of(blanks, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string_view cut_at(std::string_view* text, char end) {
  const std::string_view taken = text->substr(0, text->find(end));
  text->remove_prefix(std::min(taken.size() + 1, text->size()));
  return taken;
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) lines.emplace_back(cut_at(&text, '\n'));
  return lines;
}

namespace {

// The character at the start of `text` and its length; a length of 0: it is no UTF-8.
struct Utf8Character {
  uint32_t code = 0;
  size_t length = 0;
};

Utf8Character first_character(std::string_view text) {
  const auto first = uint8_t(text[0]);
  const size_t length = first < 0xc2   ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf5 ? 4
                                       : 0;
  if (!length || length > text.size()) return {};
  Utf8Character made{first & (0x7fu >> length), length};
  for (const char c : text.substr(1, length - 1)) {
    if ((uint8_t(c) & 0xc0) != 0x80) return {};
    made.code = made.code << 6 | (uint8_t(c) & 0x3f);
  }
  return made;
}

}  // namespace

std::string ascii_name(std::string_view name) {
  std::string made;
  while (!name.empty()) {
    if (!is_beyond_ascii(name[0])) {
      made += name[0];
      name.remove_prefix(1);
      continue;
    }
    const Utf8Character character = first_character(name);
    made += '_';
    if (character.length) {
      const bool is_long = character.code > 0xffff;
      const std::string digits = hex_number(character.code).substr(2);
      made += is_long ? 'U' : 'u';
      made += std::string((is_long ? 8 : 4) - digits.size(), '0') + digits;
    }
    name.remove_prefix(std::max<size_t>(character.length, 1));
  }
  return made;
}

size_t nr_columns(std::string_view text) {
  return size_t(
      std::count_if(text.begin(), text.end(), [](char c) { return (uint8_t(c) & 0xc0) != 0x80; }));
}

std::string hex_number(uint64_t value) {
  char digits[16];
  const auto end = std::to_chars(digits, std::end(digits), value, 16).ptr;
  return "0x" + std::string(digits, end);
}

std::string hex_bytes(const uint8_t* bytes, size_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < size; i++) {
    if (i) text += ' ';
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

}  // namespace patchbay
