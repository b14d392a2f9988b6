// SPDX-License-Identifier: MIT
#include "cmd/measure/sql_parse.h"

#include <algorithm>

#include "base/text.h"

namespace patchbay::cmd {
namespace {

constexpr int kMaxDepth = 64;  // of parentheses: the parser recurses

enum class Token : uint8_t { kEnd, kWord, kNumber, kText, kSign };

struct Lexeme {
  Token token = Token::kEnd;
  std::string text;
  bool escaped = false;  // \from: a name, never a keyword
  size_t position = 0;
};

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  return text;
}

bool is_number(std::string_view text) {
  const bool is_hex = text.starts_with("0x") && text.size() > 2;
  return text.substr(is_hex ? 2 : 0)
             .find_first_not_of(is_hex ? "0123456789abcdefABCDEF" : "0123456789") == text.npos;
}

bool is_keyword(const std::string& word) {
  static constexpr std::string_view kKeywords[] = {"select", "from", "join", "on",  "where",
                                                   "as",     "and",  "or",   "not", "cast"};
  return std::find(std::begin(kKeywords), std::end(kKeywords), lower(word)) != std::end(kKeywords);
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) { next(); }
  SqlParse run();

 private:
  // --- words
  void next();
  void read_text(char quote);
  void read_sign();
  bool fail(std::string text, size_t position);
  bool fail_here(const std::string& expected);
  bool is_word(std::string_view keyword) const {
    return now_.token == Token::kWord && !now_.escaped && lower(now_.text) == keyword;
  }
  bool is_sign(std::string_view sign) const {
    return now_.token == Token::kSign && now_.text == sign;
  }
  bool is_name() const {
    return now_.token == Token::kWord && (now_.escaped || !is_keyword(now_.text));
  }
  bool take_word(std::string_view keyword) { return is_word(keyword) && (next(), true); }
  bool take_sign(std::string_view sign) { return is_sign(sign) && (next(), true); }
  bool need_word(std::string_view keyword);
  bool need_sign(std::string_view sign);
  bool need_name(std::string* name, const char* what);

  // --- parts
  bool query(SqlQuery* query);
  bool items(SqlQuery* query);
  bool item(SqlItem* item);
  bool label(std::string* label);
  bool cast(SqlItem* item);
  bool names(std::vector<std::string>* words, const char* what);
  bool field(SqlField* field);
  bool event(SqlEvent* event);
  bool matches(SqlQuery* query);
  bool expression(std::unique_ptr<SqlExpression>* out);
  bool product(std::unique_ptr<SqlExpression>* out);
  bool operand(std::unique_ptr<SqlExpression>* out);
  bool any_of(std::unique_ptr<SqlFilter>* out);
  bool all_of(std::unique_ptr<SqlFilter>* out);
  bool condition(std::unique_ptr<SqlFilter>* out);
  bool comparison(std::unique_ptr<SqlFilter>* out);

  std::string_view text_;
  size_t at_ = 0;
  Lexeme now_;
  int depth_ = 0;
  std::optional<SqlError> error_;
};

// --- words

bool Parser::fail(std::string text, size_t position) {
  if (!error_) error_ = SqlError{std::move(text), position};
  return false;
}

bool Parser::fail_here(const std::string& expected) {
  std::string found = now_.token == Token::kEnd ? "the end" : "'" + now_.text + "'";
  return fail(expected + " is expected here, not " + found, now_.position);
}

void Parser::read_text(char quote) {
  const size_t end = text_.find(quote, at_ + 1);
  if (end == text_.npos) {
    (void)fail("this text has no end", at_);
    at_ = text_.size();
    return;
  }
  now_.token = Token::kText;
  now_.text = text_.substr(at_ + 1, end - at_ - 1);
  at_ = end + 1;
}

void Parser::read_sign() {
  static constexpr std::string_view kTwo[] = {"==", "!=", "<=", ">=", "&&", "||", "<>"};
  now_.token = Token::kSign;
  size_t length = 1;
  for (std::string_view two : kTwo)
    if (text_.substr(at_).starts_with(two)) length = 2;
  now_.text = text_.substr(at_, length);
  at_ += length;
}

void Parser::next() {
  while (at_ < text_.size() && is_space(text_[at_])) at_++;
  now_ = Lexeme{};
  now_.position = at_;
  if (at_ >= text_.size()) return;
  const char c = text_[at_];
  if (c == '"' || c == '\'') return read_text(c);
  now_.escaped = c == '\\';
  const size_t start = at_ + (now_.escaped ? 1 : 0);
  size_t end = start;
  while (end < text_.size() && is_word_char(text_[end])) end++;
  if (end == start) return read_sign();
  now_.token = is_digit(text_[start]) ? Token::kNumber : Token::kWord;
  now_.text = text_.substr(start, end - start);
  at_ = end;
  if (now_.token == Token::kNumber && !is_number(now_.text))
    (void)fail("'" + now_.text + "' is no number", start);
}

bool Parser::need_word(std::string_view keyword) {
  if (take_word(keyword)) return true;
  std::string upper(keyword);
  for (char& c : upper) c = char(c - 'a' + 'A');
  return fail_here(upper);
}

bool Parser::need_sign(std::string_view sign) {
  return take_sign(sign) || fail_here("'" + std::string(sign) + "'");
}

bool Parser::need_name(std::string* name, const char* what) {
  if (!is_name()) return fail_here(what);
  *name = now_.text;
  next();
  return true;
}

// --- SELECT … FROM … JOIN …

bool Parser::names(std::vector<std::string>* words, const char* what) {
  do {
    std::string word;
    if (!need_name(&word, what)) return false;
    words->push_back(std::move(word));
  } while (take_sign(".") || take_sign(":"));
  return true;
}

bool Parser::field(SqlField* field) {
  field->position = now_.position;
  if (!names(&field->words, "a field")) return false;
  return field->words.size() <= 3 ||
         fail("a field has two parts before its name at most", field->position);
}

// What stands behind an item or event: [AS] NAME.
bool Parser::label(std::string* label) {
  if (!take_word("as") && !is_name()) return true;
  return need_name(label, "a name");
}

bool Parser::cast(SqlItem* item) {
  if (!need_sign("(")) return false;
  item->value = std::make_unique<SqlExpression>();
  item->value->position = now_.position;
  if (!field(&item->value->field) || !need_word("as")) return false;
  std::string type;
  if (!need_name(&type, "a type")) return false;
  item->cast = lower(type);
  if (take_sign("-")) {
    if (!need_name(&type, "a type")) return false;
    item->cast += "-" + lower(type);
  } else if (take_sign("=")) {
    if (now_.token != Token::kNumber) return fail_here("a number");
    item->cast += "=" + now_.text;
    next();
  }
  return need_sign(")");
}

bool Parser::item(SqlItem* item) {
  item->position = now_.position;
  if (!(take_word("cast") ? cast(item) : expression(&item->value))) return false;
  return label(&item->name);
}

bool Parser::items(SqlQuery* query) {
  do {
    if (!item(&query->items.emplace_back())) return false;
  } while (take_sign(","));
  return true;
}

bool Parser::event(SqlEvent* event) {
  event->position = now_.position;
  if (!names(&event->words, "an event")) return false;
  if (event->words.size() > 2) return fail("an event is EVENT or SYSTEM.EVENT", event->position);
  return label(&event->label);
}

bool Parser::matches(SqlQuery* query) {
  do {
    SqlMatch& match = query->matches.emplace_back();
    if (!field(&match.left)) return false;
    if (!take_sign("=") && !take_sign("==")) return fail_here("'='");
    if (!field(&match.right)) return false;
  } while (take_sign(",") || take_word("and") || take_sign("&&"));
  return true;
}

bool Parser::query(SqlQuery* query) {
  if (!need_word("select") || !items(query) || !need_word("from") || !event(&query->from))
    return false;
  if (take_word("join")) {
    if (!event(&query->join.emplace()) || !need_word("on") || !matches(query)) return false;
  }
  if (take_word("where") && !any_of(&query->filter)) return false;
  (void)take_sign(";");
  return now_.token == Token::kEnd || fail("this is too much", now_.position);
}

// --- expressions

bool Parser::operand(std::unique_ptr<SqlExpression>* out) {
  *out = std::make_unique<SqlExpression>();
  SqlExpression& one = **out;
  one.position = now_.position;
  if (take_sign("(")) {
    if (++depth_ > kMaxDepth) return fail("too many parentheses", one.position);
    const size_t position = one.position;
    if (!expression(out) || !need_sign(")")) return false;
    depth_--;
    (*out)->in_parentheses = (*out)->kind == SqlExpression::Kind::kOperation;
    (*out)->position = position;
    return true;
  }
  if (now_.token != Token::kNumber) return field(&one.field);
  one.kind = SqlExpression::Kind::kNumber;
  one.number = now_.text;
  next();
  return true;
}

std::unique_ptr<SqlExpression> combined(char operation, std::unique_ptr<SqlExpression> left,
                                        std::unique_ptr<SqlExpression> right, size_t position) {
  auto both = std::make_unique<SqlExpression>();
  both->kind = SqlExpression::Kind::kOperation;
  both->operation = operation;
  both->left = std::move(left);
  both->right = std::move(right);
  both->position = position;
  return both;
}

bool Parser::product(std::unique_ptr<SqlExpression>* out) {
  if (!operand(out)) return false;
  while (is_sign("*") || is_sign("/")) {
    const char operation = now_.text[0];
    const size_t position = now_.position;
    std::unique_ptr<SqlExpression> right;
    next();
    if (!operand(&right)) return false;
    *out = combined(operation, std::move(*out), std::move(right), position);
  }
  return true;
}

bool Parser::expression(std::unique_ptr<SqlExpression>* out) {
  if (!product(out)) return false;
  while (is_sign("+") || is_sign("-")) {
    const char operation = now_.text[0];
    const size_t position = now_.position;
    std::unique_ptr<SqlExpression> right;
    next();
    if (!product(&right)) return false;
    *out = combined(operation, std::move(*out), std::move(right), position);
  }
  return true;
}

// --- WHERE

std::unique_ptr<SqlFilter> both_of(SqlFilter::Kind kind, std::unique_ptr<SqlFilter> left,
                                   std::unique_ptr<SqlFilter> right, size_t position) {
  auto both = std::make_unique<SqlFilter>();
  both->kind = kind;
  both->left = std::move(left);
  both->right = std::move(right);
  both->position = position;
  return both;
}

bool Parser::any_of(std::unique_ptr<SqlFilter>* out) {
  if (!all_of(out)) return false;
  for (size_t position = now_.position; take_word("or") || take_sign("||");
       position = now_.position) {
    std::unique_ptr<SqlFilter> right;
    if (!all_of(&right)) return false;
    *out = both_of(SqlFilter::Kind::kOr, std::move(*out), std::move(right), position);
  }
  return true;
}

bool Parser::all_of(std::unique_ptr<SqlFilter>* out) {
  if (!condition(out)) return false;
  for (size_t position = now_.position; take_word("and") || take_sign("&&");
       position = now_.position) {
    std::unique_ptr<SqlFilter> right;
    if (!condition(&right)) return false;
    *out = both_of(SqlFilter::Kind::kAnd, std::move(*out), std::move(right), position);
  }
  return true;
}

bool Parser::condition(std::unique_ptr<SqlFilter>* out) {
  const size_t position = now_.position;
  if (++depth_ > kMaxDepth) return fail("too many parentheses", position);
  bool right = true;
  if (take_sign("!") || take_word("not")) {
    std::unique_ptr<SqlFilter> inner;
    right = condition(&inner);
    *out = both_of(SqlFilter::Kind::kNot, std::move(inner), nullptr, position);
  } else if (take_sign("(")) {
    right = any_of(out) && need_sign(")");
  } else {
    right = comparison(out);
  }
  depth_--;
  return right;
}

bool Parser::comparison(std::unique_ptr<SqlFilter>* out) {
  static constexpr std::string_view kOperations[] = {"=",  "==", "!=", "<>", "<",
                                                     "<=", ">",  ">=", "&",  "~"};
  *out = std::make_unique<SqlFilter>();
  SqlFilter& one = **out;
  one.position = now_.position;
  if (!field(&one.field)) return false;
  const bool is_operation =
      now_.token == Token::kSign &&
      std::find(std::begin(kOperations), std::end(kOperations), now_.text) != std::end(kOperations);
  if (!is_operation) return fail_here("a comparison");
  one.operation = now_.text == "=" ? "==" : now_.text == "<>" ? "!=" : now_.text;
  next();
  if (take_sign("-")) one.value = "-";
  if (now_.token == Token::kText && one.value.empty()) {
    one.value = '"' + now_.text + '"';
  } else if (now_.token == Token::kNumber || (is_name() && one.value.empty())) {
    one.value += now_.text;
  } else {
    return fail_here("a number or a text");
  }
  next();
  return true;
}

SqlParse Parser::run() {
  SqlQuery made;
  const bool right = query(&made);
  SqlParse parse;
  if (right && !error_)
    parse.query = std::move(made);
  else
    parse.error = std::move(error_);
  return parse;
}

}  // namespace

std::string SqlField::text() const {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ".") + word;
  return text;
}

std::string SqlError::show(std::string_view statement) const {
  const size_t at = std::min(position, statement.size());
  const size_t newline = at == 0 ? statement.npos : statement.rfind('\n', at - 1);
  const size_t start = newline == statement.npos ? 0 : newline + 1;
  std::string line(statement.substr(start, statement.find('\n', start) - start));
  std::string under;
  for (char c : line.substr(0, at - start)) {
    if ((c & 0xc0) != 0x80) under += c == '\t' ? '\t' : ' ';  // one column a character
  }
  return line + "\n" + under + "^\n" + text;
}

SqlParse parse_sql(std::string_view statement) { return Parser(statement).run(); }

}  // namespace patchbay::cmd
