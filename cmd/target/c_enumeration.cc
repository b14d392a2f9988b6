// SPDX-License-Identifier: MIT
#include "cmd/target/c_enumeration.h"

#include <cerrno>
#include <charconv>
#include <unordered_map>

#include "base/text.h"
#include "cmd/target/c_tokens.h"

namespace patchbay::cmd {
namespace {

constexpr size_t kMaxLine = 1 << 18, kMaxNames = 1 << 14;
constexpr int kMaxDepth = 16;  // of parentheses

class EnumParser {
 public:
  explicit EnumParser(std::string_view text) : text_(text), tokens_(tokens_of(text)) {}

  Result<CEnumeration> run() {
    const bool is_typedef = take("typedef");
    if (!take("enum")) return wrong("An enumeration begins with 'enum'");
    made_.is_class = take("class") || take("struct");
    PB_TRY(take_attributes());
    if (at_ < tokens_.size() && is_name(tokens_[at_])) made_.tag = tokens_[at_++].text;
    PB_TRY(take_attributes());
    if (take(":"))
      while (at_ < tokens_.size() && is_word(tokens_[at_]))
        made_.underlying +=
            (made_.underlying.empty() ? "" : " ") + std::string(tokens_[at_++].text);
    if (!take("{")) return wrong("A '{' has to stand here");
    PB_TRY(take_names());
    if (is_typedef) {
      if (at_ == tokens_.size() || !is_name(tokens_[at_]))
        return wrong("The name of the type has to stand here");
      made_.other_name = tokens_[at_++].text;
    }
    while (take(";")) continue;
    if (at_ != tokens_.size()) return wrong("Nothing may stand behind an enumeration");
    if (made_.tag.empty() && made_.other_name.empty())
      return wrong("An enumeration without a name is of no use");
    return std::move(made_);
  }

 private:
  static bool is_name(const CToken& token) {
    return is_word(token) && !std::isdigit(uint8_t(token.text[0]));
  }
  bool is_next(std::string_view text) const {
    return at_ < tokens_.size() && tokens_[at_].text == text;
  }
  bool take(std::string_view text) {
    const bool is_it = is_next(text);
    at_ += is_it;
    return is_it;
  }
  Error wrong(const std::string& what) const {
    const size_t at = at_ < tokens_.size() ? tokens_[at_].at : text_.size();
    const size_t column = nr_columns(text_.substr(0, at));
    return user_error(EINVAL,
                      what + ":\n" + std::string(text_) + "\n" + std::string(column, ' ') + "^");
  }

  // "__attribute__((flag_enum))", "[[clang::flag_enum]]".
  Status take_attributes() {
    while (take("__attribute__") || is_next("[")) {
      int depth = 0;
      do {
        if (at_ == tokens_.size()) return wrong("An attribute has no end");
        const std::string_view text = tokens_[at_++].text;
        depth += text == "(" || text == "[" ? 1 : text == ")" || text == "]" ? -1 : 0;
        made_.are_flags |= text == "flag_enum" || text == "clang::flag_enum";
      } while (depth > 0);
    }
    return {};
  }

  Status take_names() {
    int64_t next = 0;
    while (!take("}")) {
      if (at_ == tokens_.size()) return wrong("A '}' is missing");
      if (!is_name(tokens_[at_])) return wrong("A name has to stand here");
      if (made_.names.size() == kMaxNames) return wrong("An enumeration has fewer names");
      const std::string_view name = tokens_[at_++].text;
      if (take("=")) {
        PB_ASSIGN(next, value(0));
      }
      values_.emplace(name, next);
      made_.names.push_back({(made_.is_class ? made_.tag + "::" : "") + std::string(name), next});
      next = int64_t(uint64_t(next) + 1);
      if (!take(",") && !is_next("}")) return wrong("A ',' or a '}' has to stand here");
    }
    return {};
  }

  Result<int64_t> value(int depth) {
    PB_ASSIGN(int64_t sum, shifted(depth));
    while (take("|")) {
      PB_ASSIGN(const int64_t more, shifted(depth));
      sum |= more;
    }
    return sum;
  }

  Result<int64_t> shifted(int depth) {
    PB_ASSIGN(int64_t bits, operand(depth));
    while (is_next("<") && at_ + 1 < tokens_.size() && tokens_[at_ + 1].text == "<") {
      at_ += 2;
      PB_ASSIGN(const int64_t by, operand(depth));
      if (by < 0 || by > 63) return wrong("A shift is by 0 to 63 bits");
      bits = int64_t(uint64_t(bits) << by);
    }
    return bits;
  }

  Result<int64_t> operand(int depth) {
    if (depth > kMaxDepth) return wrong("Parentheses are not as deep");
    if (take("-")) {
      PB_ASSIGN(const int64_t positive, operand(depth + 1));
      return int64_t(-uint64_t(positive));
    }
    if (take("~")) {
      PB_ASSIGN(const int64_t bits, operand(depth + 1));
      return ~bits;
    }
    if (take("(")) {
      PB_ASSIGN(const int64_t inner, value(depth + 1));
      if (!take(")")) return wrong("A ')' is missing");
      return inner;
    }
    if (at_ == tokens_.size() || !is_word(tokens_[at_])) return wrong("A value has to stand here");
    if (is_name(tokens_[at_])) {
      const auto found = values_.find(tokens_[at_].text);
      if (found == values_.end()) return wrong("This name has no value here");
      at_++;
      return found->second;
    }
    return number();
  }

  // 10, 0x1f, 017, with the suffixes of C.
  Result<int64_t> number() {
    std::string_view text = tokens_[at_].text;
    text = text.substr(0, text.find_last_not_of("uUlL") + 1);
    int base = 10;
    if (text.starts_with("0x") || text.starts_with("0X")) {
      base = 16;
      text.remove_prefix(2);
    } else if (text.size() > 1 && text[0] == '0') {
      base = 8;
    }
    uint64_t bits = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits, base);
    if (error != std::errc() || end != text.data() + text.size())
      return wrong("This is no number of 64 bits");
    at_++;
    return int64_t(bits);
  }

  std::string_view text_;
  std::vector<CToken> tokens_;
  size_t at_ = 0;  // of tokens_
  CEnumeration made_;
  std::unordered_map<std::string_view, int64_t> values_;
};

}  // namespace

bool is_c_enumeration(std::string_view line) {
  constexpr std::string_view kTypedef = "typedef ";
  if (line.starts_with(kTypedef)) line.remove_prefix(kTypedef.size());
  return line.starts_with("enum ") && line.find('{') != line.npos;
}

Result<CEnumeration> parse_c_enumeration(std::string_view line) {
  if (line.size() > kMaxLine) return user_error(EINVAL, "An enumeration is shorter.");
  return EnumParser(line).run();
}

}  // namespace patchbay::cmd
