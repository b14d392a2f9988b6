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
