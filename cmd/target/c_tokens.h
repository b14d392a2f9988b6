// SPDX-License-Identifier: MIT
// The words and signs of a line of C, for the parsers of declarations and enumerations.
#pragma once

#include <cctype>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace patchbay::cmd {

struct CToken {
  std::string_view text;
  size_t at;
};

inline bool is_word_char(char c) { return patchbay::is_word_char(c) || c == '$'; }
inline bool is_word(const CToken& token) { return is_word_char(token.text[0]); }

inline std::vector<CToken> tokens_of(std::string_view text) {
  std::vector<CToken> tokens;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (std::isspace(uint8_t(text[at]))) {
      at++;
      continue;
    }
    if (is_word_char(text[at])) {
      while (end < text.size() && (is_word_char(text[end]) || text.substr(end, 2) == "::"))
        end += is_word_char(text[end]) ? 1 : 2;
    } else if (text.substr(at, 3) == "...") {
      end = at + 3;
    }
    tokens.push_back({text.substr(at, end - at), at});
    at = end;
  }
  return tokens;
}

}  // namespace patchbay::cmd
