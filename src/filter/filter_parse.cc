// SPDX-License-Identifier: MIT
//
// The structure of a filter expression: parentheses, !, && and ||. Three steps, each of which finds
// its own kind of error, in the kernel's order:
//
//   check_balance    quotes and parentheses of the whole text
//   TreeParser       predicates (filter_pred.cc) and the tree that joins them
//   set_targets      the tree becomes two jump targets per predicate; nothing is left of it
//
// An expression may be 4095 characters of parentheses, so nothing here recurses.
#include "filter/filter_parse.h"

#include <utility>

#include "base/text.h"

namespace patchbay {
namespace {

using Error = FilterError;

constexpr size_t kMaxExpression = 4095;

Error nameless() { return Error{}; }

struct Node {
  enum class Kind : uint8_t { kPred, kAnd, kOr };
  Kind kind = Kind::kPred;
  bool negated = false;
  int left = -1, right = -1;
  int first = 0;  // the leftmost predicate below it
};

// The parentheses that are open, from a walk over the text that steps over quoted parts.
class Balance {
 public:
  explicit Balance(std::string_view text) : text_(text) {}

  // The error of an unbalanced text.
  std::optional<Error> check() {
    for (size_t i = 0; i < text_.size(); i++) {
      if (step(i)) return Error{filter_errors::kTooFewOpen, uint32_t(i)};
    }
    if (quote_) return Error{filter_errors::kMissingQuote, uint32_t(quote_at_)};
    if (!open_.empty()) return Error{filter_errors::kTooManyOpen, uint32_t(open_.back())};
    return std::nullopt;
  }
  bool has_content() const { return has_content_; }

 private:
  // True at a parenthesis that closes nothing.
  bool step(size_t i) {
    char c = text_[i];
    if (quote_) {
      if (c == quote_) quote_ = 0;
    } else if (c == '(') {
      open_.push_back(i);
    } else if (c == ')') {
      if (open_.empty()) return true;
      open_.pop_back();
    } else if (!is_space(c)) {
      has_content_ = true;
      if (c == '\'' || c == '"') {
        quote_ = c;
        quote_at_ = i;
      }
    }
    return false;
  }

  std::string_view text_;
  std::vector<size_t> open_;
  size_t quote_at_ = 0;
  char quote_ = 0;
  bool has_content_ = false;
};

class TreeParser {
 public:
  TreeParser(std::string_view text, const FilterContext& context)
      : text_(text), context_(context), levels_(1) {}

  std::optional<Error> parse() {
    while (!done_) {
      if (auto error = operand()) return error;
      if (done_) break;
      if (auto error = after_operand()) return error;
    }
    return std::nullopt;
  }
  const std::vector<Node>& nodes() const { return nodes_; }
  std::vector<FilterPred>& preds() { return preds_; }
  int root() const { return root_; }

 private:
  struct Level {
    int or_left = -1, and_left = -1;  // what waits for its right side
    bool negated = false;             // the whole parenthesis
  };

  char at(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  void skip_blanks() {
    while (is_space(at(at_))) at_++;
  }

  // '(' and '!' in front of a predicate, and the predicate.
  std::optional<Error> operand() {
    bool negated = false;
    for (;; at_++) {
      skip_blanks();
      if (at_ == text_.size()) return ended_early();
      if (at(at_) == '(') {
        levels_.push_back({-1, -1, negated});
        negated = false;
      } else if (at(at_) == '!' && at(at_ + 1) != '=' && at(at_ + 1) != '~') {
        negated = !negated;
      } else {
        break;
      }
    }
    FilterPred pred;
    auto end = parse_filter_pred(text_, at_, context_, &pred);
    if (auto* error = std::get_if<Error>(&end)) return *error;
    at_ = std::get<size_t>(end);
    current_ = int(nodes_.size());
    nodes_.push_back({Node::Kind::kPred, negated, -1, -1, int(preds_.size())});
    preds_.push_back(std::move(pred));
    return std::nullopt;
  }
  Error ended_early() const {
    const char* text = preds_.empty() ? filter_errors::kNoFilter : filter_errors::kMeaningless;
    return Error{text, uint32_t(text_.size())};
  }

  // Closing parentheses, then && or || or the end.
  std::optional<Error> after_operand() {
    for (;; at_++) {
      skip_blanks();
      char c = at(at_);
      if ((c == '&' || c == '|') && at(at_ + 1) == c) {
        join(c == '&');
        at_ += 2;
        return std::nullopt;
      }
      if (at_ != text_.size() && c != ')')
        return Error{filter_errors::kTooManyTerms, uint32_t(at_)};
      close();
      if (at_ == text_.size()) {
        root_ = current_;
        done_ = true;
        return std::nullopt;
      }
    }
  }

  int add(Node::Kind kind, int left, int right) {
    nodes_.push_back({kind, false, left, right, nodes_[size_t(left)].first});
    return int(nodes_.size()) - 1;
  }
  void finish_and() {
    Level& level = levels_.back();
    if (level.and_left >= 0) current_ = add(Node::Kind::kAnd, level.and_left, current_);
    level.and_left = -1;
  }
  void finish_or() {
    Level& level = levels_.back();
    if (level.or_left >= 0) current_ = add(Node::Kind::kOr, level.or_left, current_);
    level.or_left = -1;
  }
  void join(bool is_and) {
    finish_and();
    if (is_and) {
      levels_.back().and_left = current_;
    } else {
      finish_or();
      levels_.back().or_left = current_;
    }
  }
  // The end of a parenthesis, or of the text.
  void close() {
    finish_and();
    finish_or();
    if (levels_.back().negated) nodes_[size_t(current_)].negated ^= true;
    if (levels_.size() > 1) levels_.pop_back();
  }

  std::string_view text_;
  const FilterContext& context_;
  std::vector<Node> nodes_;
  std::vector<FilterPred> preds_;
  std::vector<Level> levels_;
  size_t at_ = 0;
  int current_ = -1, root_ = -1;
  bool done_ = false;
};

void set_targets(const std::vector<Node>& nodes, int root, std::vector<FilterPred>* preds) {
  struct Open {
    int node, on_true, on_false;
  };
  const int match = int(preds->size());
  std::vector<Open> open{{root, match, match + 1}};
  while (!open.empty()) {
    auto [index, on_true, on_false] = open.back();
    open.pop_back();
    const Node& node = nodes[size_t(index)];
    if (node.negated) std::swap(on_true, on_false);
    if (node.kind == Node::Kind::kPred) {
      FilterInsn& insn = (*preds)[size_t(node.first)].insn;
      insn.on_true = uint16_t(on_true);
      insn.on_false = uint16_t(on_false);
      continue;
    }
    const int right = nodes[size_t(node.right)].first;
    const bool is_and = node.kind == Node::Kind::kAnd;
    open.push_back({node.left, is_and ? right : on_true, is_and ? on_false : right});
    open.push_back({node.right, on_true, on_false});
  }
}

}  // namespace

[[gnu::cold]] std::variant<std::vector<FilterPred>, FilterError> parse_filter(
    std::string_view text, const FilterContext& context) {
  text = text.substr(0, text.find('\0'));
  text = trim_back(text);
  if (text.size() > kMaxExpression) return nameless();
  Balance balance(text);
  if (auto error = balance.check()) return *error;
  if (!balance.has_content()) return nameless();
  TreeParser parser(text, context);
  if (auto error = parser.parse()) return *error;
  set_targets(parser.nodes(), parser.root(), &parser.preds());
  return std::move(parser.preds());
}

}  // namespace patchbay
