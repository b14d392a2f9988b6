// SPDX-License-Identifier: MIT
#include "tracefs/files/filter_words.h"

#include <cerrno>

#include "base/text.h"

namespace patchbay::tracefs {
namespace {

bool ends_word(char c) { return is_space(c) || c == '\0'; }

}  // namespace

Result<FilterWords::Taken> FilterWords::take(std::string_view bytes) {
  size_t at = 0;
  if (rest_.empty()) {
    while (at < bytes.size() && is_space(bytes[at])) at++;
  }
  const size_t start = at;
  while (at < bytes.size() && !ends_word(bytes[at])) at++;
  rest_.append(bytes.substr(start, at - start));
  if (rest_.size() > kMaxWord) {
    rest_.clear();
    return user_error(
        EINVAL, "A word of this file has at most " + std::to_string(kMaxWord) + " characters.");
  }
  Taken taken;
  if (at < bytes.size()) {
    at++;  // the blank or NUL that ends the word
    taken.word = take_rest();
    rest_.clear();
  }
  taken.consumed = at;
  return taken;
}

}  // namespace patchbay::tracefs
