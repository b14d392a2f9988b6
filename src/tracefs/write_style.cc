// SPDX-License-Identifier: MIT
#include "tracefs/write_style.h"

#include <cerrno>

#include "base/text.h"

namespace patchbay::tracefs {
namespace {

bool ends_word(char c) { return is_space(c) || c == '\0'; }

Error bad_number(std::string_view bytes) {
  return user_error(EINVAL, "'" + std::string(bytes.substr(0, 40)) + "' is not a number.");
}

}  // namespace

Result<uint64_t> parse_number(std::string_view bytes) {
  std::string_view digits = bytes.substr(0, bytes.find('\0'));  // the kernel reads a C string
  if (!digits.empty() && digits.back() == '\n') digits.remove_suffix(1);
  std::string_view shown = digits;
  if (!digits.empty() && digits.front() == '+') digits.remove_prefix(1);
  if (digits.empty()) return bad_number(shown);
  uint64_t value = 0;
  bool overflow = false;
  for (char c : digits) {
    if (!is_digit(c)) return bad_number(shown);
    overflow |= __builtin_mul_overflow(value, uint64_t{10}, &value);
    overflow |= __builtin_add_overflow(value, uint64_t(c - '0'), &value);
  }
  if (overflow)
    return user_error(ERANGE, "The number " + std::string(shown.substr(0, 40)) + " is too large.");
  return value;
}

Result<bool> parse_switch(std::string_view bytes) {
  PB_ASSIGN(uint64_t number, parse_number(bytes));
  if (number > 1) return user_error(EINVAL, "Only 0 and 1 can be written to this file.");
  return number == 1;
}

namespace {

// Where the comment begins. The number of a lambda, {lambda(int)#1}, is part of its name.
size_t comment_of(std::string_view line) {
  size_t at = line.find('#');
  for (; at != line.npos; at = line.find('#', at + 1)) {
    const size_t end = line.find_first_not_of("0123456789", at + 1);
    if (end == at + 1 || end == line.npos || line[end] != '}') break;
  }
  return at;
}

}  // namespace

Result<size_t> for_each_line(std::string_view bytes,
                             const std::function<Status(std::string_view)>& execute) {
  for (std::string_view rest = bytes; !rest.empty();) {
    size_t newline = rest.find('\n');
    size_t taken = newline == rest.npos ? rest.size() : newline + 1;
    if (taken > kMaxLine) {
      return user_error(EINVAL, "A line with its newline may have at most 4095 bytes.");
    }
    std::string_view line = rest.substr(0, newline);
    rest.remove_prefix(taken);
    line = trim_front(line.substr(0, comment_of(line)));
    if (!line.empty()) PB_TRY(execute(line));
  }
  return bytes.size();
}

Result<Token> take_token(std::string_view bytes) {
  std::string_view rest = trim_front(bytes);
  size_t length = 0;
  while (length < rest.size() && !ends_word(rest[length])) length++;
  if (length > kMaxToken)
    return user_error(EINVAL, "A word in this file has at most 127 characters.");
  Token token{rest.substr(0, length), bytes.size() - rest.size() + length};
  if (length < rest.size()) token.consumed++;  // the blank or NUL that ends the word
  return token;
}

Result<std::string_view> take_whole(std::string_view bytes, size_t limit) {
  if (bytes.size() >= limit) {
    return user_error(EINVAL,
                      "A command of this file has less than " + std::to_string(limit) + " bytes.");
  }
  return bytes.substr(0, bytes.find('\0'));
}

}  // namespace patchbay::tracefs
