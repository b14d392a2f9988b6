// SPDX-License-Identifier: MIT
#include "event/function_name.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"
#include "symbol/demangled_name.h"

namespace patchbay {

namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";
constexpr std::string_view kListedAnonymous = "(anonymous_namespace)";

bool is_hex(char c) { return digit_value(c) < 16; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool contains(std::string_view set, char c) { return c && set.find(c) != std::string_view::npos; }

class NameScanner {
 public:
  explicit NameScanner(std::string_view text) : text_(text) {}
  size_t scan();

 private:
  char at(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  bool starts(std::string_view word) const { return text_.substr(pos_, word.size()) == word; }
  bool library();
  bool step();
  bool word_or_operator();
  bool operator_name();
  bool listed_conversion();
  bool parentheses();
  size_t behind_group(size_t open, char opening, char closing) const;
  size_t behind_template(size_t open) const;
  size_t behind_qualifiers(size_t from, bool is_listed = false) const;

  std::string_view text_;
  size_t pos_ = 0;
  bool ended_ = false;
};

// `library:` or the whole of `file@0x…`: both may hold what no C++ name holds. True: the name is
// complete.
bool NameScanner::library() {
  for (size_t i = 0; is_word_char(at(i)) || contains("/.+-@:~", at(i)); i++) {
    if (at(i) == '@' && at(i + 1) == '0' && at(i + 2) == 'x' && is_hex(at(i + 3))) {
      for (pos_ = i + 3; is_hex(at(pos_)); pos_++) {
      }
      return true;
    }
    if (at(i) != ':') continue;
    if (at(i + 1) == ':') return false;
    pos_ = i ? i + 1 : 0;
    return false;
  }
  return false;
}

// One past the bracket that closes the one at `open`; 0: it is never closed.
size_t NameScanner::behind_group(size_t open, char opening, char closing) const {
  size_t depth = 0;
  for (size_t i = open; i < text_.size(); i++) {
    if (text_[i] == opening) depth++;
    if (text_[i] == closing && --depth == 0) return i + 1;
  }
  return 0;
}

size_t NameScanner::behind_template(size_t open) const {
  size_t depth = 0;
  for (size_t i = open; i < text_.size(); i++) {
    if (text_[i] == '(') {
      i = behind_group(i, '(', ')');
      if (!i--) return 0;
    } else if (text_.substr(i).starts_with("operator") && !is_word_char(at(i - 1))) {
      i += 7 + operator_sign(text_.substr(std::min(i + 8, text_.size())));
    } else if (text_[i] == '<') {
      depth++;
    } else if (text_[i] == '>' && --depth == 0) {
      return i + 1;
    }
  }
  return 0;
}

// `is_listed`: blanks are '_'.
size_t NameScanner::behind_qualifiers(size_t from, bool is_listed) const {
  for (;;) {
    size_t i = from;
    while (is_blank(at(i)) || (is_listed && at(i) == '_')) i++;
    std::string_view rest = text_.substr(i);
    const auto is_end = [&](char c) { return !is_word_char(c) || (is_listed && c == '_'); };
    if (rest.substr(0, 5) == "const" && is_end(at(i + 5))) {
      from = i + 5;
    } else if (rest.substr(0, 8) == "volatile" && is_end(at(i + 8))) {
      from = i + 8;
    } else if (at(i) == '&') {
      from = i + 1;
    } else {
      return from;
    }
  }
}

// "operator" has been read: "()", symbols, " new[]", " bool", "\"\"_x".
bool NameScanner::operator_name() {
  if (at(pos_) == '(' && at(pos_ + 1) == ')') {
    pos_ += 2;
    return true;
  }
  if (starts("\"\"")) {
    pos_ += at(pos_ + 2) == ' ' && is_word_start(at(pos_ + 3)) ? 3 : 2;
    return true;
  }
  if (at(pos_) != ' ' && operator_sign(text_.substr(pos_))) {
    pos_ += operator_sign(text_.substr(pos_));
    if (at(pos_) == ' ' && at(pos_ + 1) == '<') pos_++;
    return true;
  }
  while (at(pos_) && at(pos_) != '(') pos_++;
  return true;
}

// "operator_" and a type, as lists show a conversion: operator_char_const*,
// operator_std::vector<int,_std::allocator<int>_>. A function may be called so, too.
bool NameScanner::listed_conversion() {
  for (;;) {
    size_t behind = pos_;
    if (is_word_char(at(pos_)) || contains("*&", at(pos_))) behind = pos_ + 1;
    if (at(pos_) == ':' && at(pos_ + 1) == ':') behind = pos_ + 2;
    if (at(pos_) == '[' && at(pos_ + 1) == ']') behind = pos_ + 2;
    if (at(pos_) == '<') behind = behind_template(pos_);
    if (behind <= pos_) return true;
    pos_ = behind;
  }
}

bool NameScanner::word_or_operator() {
  size_t start = pos_;
  while (is_word_char(at(pos_))) pos_++;
  const std::string_view word = text_.substr(start, pos_ - start);
  if (word.starts_with("operator_")) return listed_conversion();
  if (word != "operator") return true;
  // An ordinary function may have that name too: then its argument list follows.
  if (at(pos_) == '(' && at(pos_ + 1) != ')') return true;
  return operator_name();
}

// Part of the name, or where it ends.
bool NameScanner::parentheses() {
  size_t behind = behind_group(pos_, '(', ')');
  if (!behind) return false;
  std::string_view after = text_.substr(behind);
  // A method of Go: main.(*item).grow
  if (pos_ > 0 && text_[pos_ - 1] == '.' && at(pos_ + 1) == '*' && after.starts_with('.')) {
    pos_ = behind;
    return true;
  }
  if (starts(kAnonymous) || after.substr(0, 2) == "::") {
    if (after.substr(0, 2) != "::") return false;
    pos_ = behind;
    return true;
  }
  // In a method: f(int) const::{lambda()#1}::operator()
  size_t end = behind_qualifiers(behind, true);
  if (text_.substr(end, 2) == "::") {
    pos_ = end;
    return true;
  }
  end = behind_qualifiers(behind);
  size_t next = end;
  while (is_blank(at(next))) next++;
  if (at(next) != '(' || pos_ == 0) return false;
  pos_ = end;
  ended_ = true;
  return true;
}

// One piece of the name; false: it ends here.
bool NameScanner::step() {
  char c = at(pos_);
  if (is_word_char(c)) return word_or_operator();
  if (c == '(') return parentheses();
  size_t behind = 0;
  if (c == '<') behind = behind_template(pos_);
  if (c == '{') behind = behind_group(pos_, '{', '}');
  if (starts("[abi:")) behind = behind_group(pos_, '[', ']');
  if (c == ':' && at(pos_ + 1) == ':') behind = pos_ + 2;
  if (contains(".$~", c)) behind = pos_ + 1;
  if (c == '@')  // f@plt, f@dir/file-1.c, f@VERSION, f@@VERSION
    for (behind = pos_ + (at(pos_ + 1) == '@' ? 2 : 1);
         is_word_char(at(behind)) || contains("./+-", at(behind)); behind++) {
    }
  if (!behind) return false;
  pos_ = behind;
  return true;
}

size_t NameScanner::scan() {
  if (library()) return pos_;
  pos_ += special_prefix(text_.substr(pos_));
  const size_t start = pos_;
  const bool is_nameless = starts(kAnonymous) || starts(kListedAnonymous);
  if (!is_word_start(at(start)) && !contains("~.", at(start)) && !is_nameless) return 0;
  while (!ended_ && step()) {
  }
  return pos_ == start ? 0 : pos_;
}

}  // namespace

size_t scan_function_name(std::string_view line) { return NameScanner(line).scan(); }

}  // namespace patchbay
