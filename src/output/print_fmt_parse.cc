// SPDX-License-Identifier: MIT
//
// From the text of a `print fmt` to a program: a lexer without tokens of its own, a parser by
// precedence, and the conversions of the format string. What it does not know makes the whole
// format unusable; the one exception is a name in the table of __print_flags and
// __print_symbolic (an enumerator that the kernel did not resolve), which just never matches.
#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "output/print_fmt_program.h"

namespace patchbay {

namespace {

constexpr uint32_t kBad = UINT32_MAX;
constexpr size_t kMaxText = 1u << 20;
constexpr size_t kMaxNodes = 1u << 16;
constexpr int kMaxDepth = 200;         // of the parser's recursion
constexpr uint16_t kMaxNesting = 256;  // of the program's
constexpr int kMaxWidth = 4096;

struct TypeWord {
  std::string_view word;
  uint8_t width;       // 0: says nothing of the size
  int8_t is_unsigned;  // -1: says nothing of it
};
constexpr TypeWord kTypeWords[] = {
    {"unsigned", 0, 1},
    {"signed", 0, 0},
    {"const", 0, -1},
    {"volatile", 0, -1},
    {"struct", 0, -1},
    {"enum", 4, -1},
    {"union", 0, -1},
    {"void", 1, 1},
    {"char", 1, -1},
    {"bool", 1, 1},
    {"_Bool", 1, 1},
    {"short", 2, -1},
    {"int", 0, -1},
    {"long", 8, -1},
    {"float", 4, -1},
    {"double", 8, -1},
    {"u8", 1, 1},
    {"u16", 2, 1},
    {"u32", 4, 1},
    {"u64", 8, 1},
    {"s8", 1, 0},
    {"s16", 2, 0},
    {"s32", 4, 0},
    {"s64", 8, 0},
    {"__u8", 1, 1},
    {"__u16", 2, 1},
    {"__u32", 4, 1},
    {"__u64", 8, 1},
    {"__s8", 1, 0},
    {"__s16", 2, 0},
    {"__s32", 4, 0},
    {"__s64", 8, 0},
    {"uint8_t", 1, 1},
    {"uint16_t", 2, 1},
    {"uint32_t", 4, 1},
    {"uint64_t", 8, 1},
    {"int8_t", 1, 0},
    {"int16_t", 2, 0},
    {"int32_t", 4, 0},
    {"int64_t", 8, 0},
    {"size_t", 8, 1},
    {"ssize_t", 8, 0},
    {"loff_t", 8, 0},
    {"pid_t", 4, 0},
    {"dev_t", 4, 1},
    {"gfp_t", 4, 1},
    {"umode_t", 2, 1},
    {"uintptr_t", 8, 1},
    {"sector_t", 8, 1},
    {"blkcnt_t", 8, 1},
    {"ino_t", 8, 1},
    {"pgoff_t", 8, 1},
    {"dma_addr_t", 8, 1},
    {"phys_addr_t", 8, 1},
    {"resource_size_t", 8, 1},
    {"ktime_t", 8, 0},
};

const TypeWord* find_type_word(std::string_view word) {
  for (const TypeWord& row : kTypeWords)
    if (row.word == word) return &row;
  return nullptr;
}

struct Binary {
  std::string_view text;
  int precedence;
  FmtOp op;
};
// Longer ones first.
constexpr Binary kBinaries[] = {
    {"||", 1, FmtOp::kOr},        {"&&", 2, FmtOp::kAnd},          {"==", 6, FmtOp::kEqual},
    {"!=", 6, FmtOp::kNotEqual},  {"<<", 8, FmtOp::kShiftLeft},    {">>", 8, FmtOp::kShiftRight},
    {"<=", 7, FmtOp::kLessEqual}, {">=", 7, FmtOp::kGreaterEqual}, {"|", 3, FmtOp::kBitOr},
    {"^", 4, FmtOp::kBitXor},     {"&", 5, FmtOp::kBitAnd},        {"<", 7, FmtOp::kLess},
    {">", 7, FmtOp::kGreater},    {"+", 9, FmtOp::kAdd},           {"-", 9, FmtOp::kSubtract},
    {"*", 10, FmtOp::kMultiply},  {"/", 10, FmtOp::kDivide},       {"%", 10, FmtOp::kModulo},
};

bool has_table(FmtOp op) { return op == FmtOp::kFlags || op == FmtOp::kSymbolic; }

bool is_char_type(std::string_view type) {
  for (std::string_view prefix : {"const ", "unsigned ", "signed "})
    if (type.starts_with(prefix)) type.remove_prefix(prefix.size());
  return type == "char";
}

// Size of the elements of `T` in "__data_loc T[]".
uint8_t element_width(std::string_view type) {
  if (type.ends_with("*")) return 8;
  uint8_t width = 4;
  while (!type.empty()) {
    std::string_view word = cut_at(&type, ' ');
    const TypeWord* row = find_type_word(word);
    if (row && row->width) width = row->width;
  }
  return width;
}

FieldRef ref_of(const EventField& field) {
  FieldRef ref;
  std::string_view type = field.type;
  ref.offset = field.offset;
  ref.size = field.size;
  ref.is_signed = field.is_signed;
  bool data_loc = type.starts_with("__data_loc "), rel_loc = type.starts_with("__rel_loc ");
  if (data_loc || rel_loc) {
    type = type.substr(type.find(' ') + 1);
    ref.kind = data_loc ? FieldRef::Kind::kDataLoc : FieldRef::Kind::kRelLoc;
    ref.elem = element_width(type.substr(0, type.find('[')));
    return ref;
  }
  bool array = field.array_len || !field.brackets.empty() || field.size == 0;
  if (array && is_char_type(type)) {
    ref.kind = field.size ? FieldRef::Kind::kText : FieldRef::Kind::kRestText;
  } else if (array || (field.size != 1 && field.size != 2 && field.size != 4 && field.size != 8)) {
    ref.kind = FieldRef::Kind::kBytes;
    uint32_t elem = field.array_len ? field.size / field.array_len : element_width(type);
    ref.elem = elem == 1 || elem == 2 || elem == 4 || elem == 8 ? uint8_t(elem) : uint8_t(1);
    ref.elem_float = (type == "float" && elem == 4) || (type == "double" && elem == 8);
  } else if ((type == "float" && field.size == 4) || (type == "double" && field.size == 8)) {
    ref.kind = FieldRef::Kind::kFloat;
  }
  return ref;
}

class Parser {
 public:
  Parser(const EventCall& call, PrintFormat::Program* program)
      : call_(call), text_(call.print_fmt), program_(program) {}
  bool parse();

 private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void skip_blanks() {
    while (at_ < text_.size() && (peek() == ' ' || peek() == '\t' || peek() == '\n')) at_++;
  }
  bool take(char c) {
    skip_blanks();
    if (peek() != c) return false;
    at_++;
    return true;
  }
  std::string_view take_word();
  std::optional<char> take_escape();
  bool take_string(std::string* out);  // several literals in a row are one
  uint32_t add(FmtNode node);
  uint32_t number(uint64_t value, uint8_t width = 4, bool is_unsigned = false);
  uint32_t add_text(std::string text);

  uint32_t parse_expression();
  uint32_t parse_binary(int lowest);
  const Binary* peek_binary();
  uint32_t parse_unary();
  uint32_t parse_prefixed(FmtOp op);
  uint32_t parse_primary();
  uint32_t parse_postfix(uint32_t node);
  uint32_t parse_number();
  uint32_t parse_character();
  uint32_t parse_word();
  uint32_t parse_field();
  uint32_t parse_call(std::string_view name);
  uint32_t parse_field_call(FmtOp op);
  bool take_word_index(FieldRef* ref);
  uint32_t parse_array_call(FmtOp op, bool spaced, int arguments);
  uint32_t parse_names(FmtOp op);
  uint32_t parse_seconds(FmtOp op);
  bool parse_name_row(uint32_t* count);
  bool take_type(FmtNode* cast);

  bool parse_format(const std::string& format);
  void mark_faults();
  bool parse_conversion(const std::string& format, size_t* at, FmtStep* step);
  bool take_count(const std::string& format, size_t* at, int* value, bool* star);
  bool take_argument(uint32_t* node);

  const EventCall& call_;
  std::string_view text_;
  PrintFormat::Program* program_;
  std::vector<uint16_t> nesting_;  // of each node
  size_t at_ = 0;
  int depth_ = 0;
  bool lenient_ = false, unknown_word_ = false;
};

std::string_view Parser::take_word() {
  skip_blanks();
  size_t start = at_;
  if (!is_name_start(peek())) return {};
  while (is_name_char(peek())) at_++;
  return text_.substr(start, at_ - start);
}

// Behind a backslash.
std::optional<char> Parser::take_escape() {
  char c = peek();
  at_++;
  static constexpr std::string_view kFrom = "ntr\"\\'abfve?", kTo = "\n\t\r\"\\'\a\b\f\v\x1b?";
  size_t index = kFrom.find(c);
  if (c && index != std::string_view::npos) return kTo[index];
  if (c == 'x') {
    int value = 0;
    while (digit_value(peek()) < 16) value = (value * 16 + digit_value(text_[at_++])) & 255;
    return char(value);
  }
  if (c < '0' || c > '7') return std::nullopt;
  int value = c - '0';
  for (int i = 0; i < 2 && peek() >= '0' && peek() <= '7'; i++)
    value = value * 8 + (text_[at_++] - '0');
  return char(value);
}

bool Parser::take_string(std::string* out) {
  skip_blanks();
  if (peek() != '"') return false;
  while (take('"')) {
    for (;;) {
      if (at_ >= text_.size()) return false;
      char c = text_[at_++];
      if (c == '"') break;
      if (c == '\\') {
        auto escaped = take_escape();
        if (!escaped) return false;
        c = *escaped;
      }
      *out += c;
    }
  }
  return true;
}

uint32_t Parser::add(FmtNode node) {
  if (node.a == kBad || node.b == kBad || node.c == kBad) return kBad;
  if (program_->nodes.size() >= kMaxNodes) return kBad;
  uint16_t nesting = 0;
  auto below = [&](uint32_t child) { nesting = std::max(nesting, nesting_[child]); };
  if (!nesting_.empty() && node.op >= FmtOp::kIndex) {
    below(node.a);
    if (!has_table(node.op)) below(node.b), below(node.c);
  }
  if (nesting >= kMaxNesting) return kBad;
  nesting_.push_back(uint16_t(nesting + 1));
  program_->nodes.push_back(node);
  return uint32_t(program_->nodes.size() - 1);
}

uint32_t Parser::number(uint64_t value, uint8_t width, bool is_unsigned) {
  return add({.op = FmtOp::kNumber, .width = width, .is_unsigned = is_unsigned, .number = value});
}

uint32_t Parser::add_text(std::string text) {
  if (program_->texts.size() >= kMaxNodes) return kBad;
  program_->texts.push_back(std::move(text));
  return uint32_t(program_->texts.size() - 1);
}

uint32_t Parser::parse_expression() {
  if (++depth_ > kMaxDepth) return kBad;
  uint32_t node = parse_binary(1);
  if (node != kBad && take('?')) {
    uint32_t yes = parse_expression();
    uint32_t no = yes != kBad && take(':') ? parse_expression() : kBad;
    node = add({.op = FmtOp::kChoose, .a = node, .b = yes, .c = no});
  }
  depth_--;
  return node;
}

const Binary* Parser::peek_binary() {
  skip_blanks();
  for (const Binary& binary : kBinaries)
    if (text_.substr(at_, binary.text.size()) == binary.text) return &binary;
  return nullptr;
}

uint32_t Parser::parse_binary(int lowest) {
  uint32_t left = parse_unary();
  for (;;) {
    const Binary* binary = left == kBad ? nullptr : peek_binary();
    if (!binary || binary->precedence < lowest) return left;
    at_ += binary->text.size();
    if (++depth_ > kMaxDepth) return kBad;
    uint32_t right = parse_binary(binary->precedence + 1);
    depth_--;
    left = add({.op = binary->op, .a = left, .b = right});
  }
}

uint32_t Parser::parse_prefixed(FmtOp op) {
  at_++;
  uint32_t node = parse_unary();
  return add({.op = op, .a = node});
}

uint32_t Parser::parse_unary() {
  if (++depth_ > kMaxDepth) return kBad;
  skip_blanks();
  uint32_t node = kBad;
  FmtNode cast;
  if (peek() == '-') {
    node = parse_prefixed(FmtOp::kNegate);
  } else if (peek() == '!') {
    node = parse_prefixed(FmtOp::kNot);
  } else if (peek() == '~') {
    node = parse_prefixed(FmtOp::kInvert);
  } else if (peek() == '+' || peek() == '&') {  // the address of a field is what its bytes are
    at_++;
    node = parse_unary();
  } else if (peek() == '*') {
    at_++;
    uint32_t pointer = parse_unary();
    node = add({.op = FmtOp::kIndex, .a = pointer, .b = number(0)});
  } else if (peek() == '(' && take_type(&cast)) {
    cast.a = parse_unary();
    node = add(cast);
  } else {
    node = parse_postfix(parse_primary());
  }
  depth_--;
  return node;
}

uint32_t Parser::parse_postfix(uint32_t node) {
  while (node != kBad && take('[')) {
    uint32_t index = parse_expression();
    if (!take(']')) return kBad;
    node = add({.op = FmtOp::kIndex, .a = node, .b = index});
  }
  return node;
}

uint32_t Parser::parse_primary() {
  skip_blanks();
  if (is_digit(peek())) return parse_number();
  if (peek() == '\'') return parse_character();
  if (peek() == '"') {
    std::string text;
    if (!take_string(&text)) return kBad;
    return add({.op = FmtOp::kText, .a = add_text(std::move(text))});
  }
  if (take('(')) {
    uint32_t node = parse_expression();
    return take(')') ? node : kBad;
  }
  return parse_word();
}

uint32_t Parser::parse_number() {
  uint64_t value = 0, base = 10;
  if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
    base = 16;
    at_ += 2;
  } else if (peek() == '0') {
    base = 8;
  }
  size_t start = at_;
  for (uint64_t digit; (digit = uint64_t(digit_value(peek()))) < base; at_++)
    value = value * base + digit;
  if (at_ == start) return kBad;
  bool is_unsigned = false, is_long = value > UINT32_MAX || (base == 10 && value > INT32_MAX);
  for (;; at_++) {
    if (peek() == 'u' || peek() == 'U') {
      is_unsigned = true;
    } else if (peek() == 'l' || peek() == 'L') {
      is_long = true;
    } else {
      break;
    }
  }
  if (is_name_char(peek())) return kBad;
  if (value > INT64_MAX || (!is_long && value > INT32_MAX)) is_unsigned = true;
  return number(value, is_long ? 8 : 4, is_unsigned);
}

uint32_t Parser::parse_character() {
  at_++;
  if (at_ >= text_.size()) return kBad;
  std::optional<char> c = text_[at_++];
  if (*c == '\\') c = take_escape();
  if (!c || peek() != '\'') return kBad;
  at_++;
  return number(uint64_t(int64_t(*c)));
}

uint32_t Parser::parse_word() {
  std::string_view word = take_word();
  if (word.empty()) return kBad;
  if (word == "REC") return parse_field();
  if (word == "true") return number(1);
  if (word == "false" || word == "NULL") return number(0);
  skip_blanks();
  if (peek() == '(') return parse_call(word);
  if (!lenient_) return kBad;
  unknown_word_ = true;
  return number(0);
}

uint32_t Parser::parse_field() {
  skip_blanks();
  if (text_.substr(at_, 2) == "->") {
    at_ += 2;
  } else if (peek() == '.') {
    at_++;
  } else {
    return kBad;
  }
  const EventField* field = call_.find(take_word());
  if (!field) return kBad;
  return add({.op = FmtOp::kField, .ref = ref_of(*field)});
}

// "[1]" behind the name of a string array, "__data_loc char[][2]": which of its words.
bool Parser::take_word_index(FieldRef* ref) {
  if (!take('[')) return true;
  skip_blanks();
  uint32_t index = 0;
  if (!is_digit(peek())) return false;
  for (; is_digit(peek()) && index < kMaxNodes; at_++) index = index * 10 + uint32_t(peek() - '0');
  if (ref->kind != FieldRef::Kind::kDataLoc || index >= ref->size / 4) return false;
  ref->offset += index * 4;
  return take(']');
}

// __get_str(name) and its like: the name of a dynamic field.
uint32_t Parser::parse_field_call(FmtOp op) {
  const EventField* field = call_.find(take_word());
  if (!field) return kBad;
  FieldRef ref = ref_of(*field);
  if (!take_word_index(&ref) || !take(')')) return kBad;
  if (ref.kind != FieldRef::Kind::kDataLoc && ref.kind != FieldRef::Kind::kRelLoc &&
      (op == FmtOp::kArray || op == FmtOp::kArrayLen))
    return kBad;
  const bool counted = op == FmtOp::kStack && call_.system == "synthetic";
  return add({.op = op, .width = uint8_t(counted ? 1 : 0), .ref = ref});
}

uint32_t Parser::parse_array_call(FmtOp op, bool spaced, int arguments) {
  uint32_t node[3] = {0, 0, 0};
  for (int i = 0; i < arguments; i++) {
    if (i > 0 && !take(',')) return kBad;
    node[i] = parse_expression();
    if (node[i] == kBad) return kBad;
  }
  if (op == FmtOp::kHexBytes && take(',')) parse_expression();  // an older form's third argument
  if (!take(')')) return kBad;
  return add(
      {.op = op, .width = uint8_t(spaced ? 1 : 0), .a = node[0], .b = node[1], .c = node[2]});
}

// "{ value, "name" }", or the "{ -1, NULL }" that ends some tables.
bool Parser::parse_name_row(uint32_t* count) {
  std::string name;
  lenient_ = true;
  unknown_word_ = false;
  uint32_t value = parse_expression();
  lenient_ = false;
  if (value == kBad || !take(',')) return false;
  skip_blanks();
  bool named = peek() == '"';
  if (named ? !take_string(&name) : take_word() != "NULL") return false;
  if (!take('}')) return false;
  if (unknown_word_ || !named) return true;
  if (program_->names.size() >= kMaxNodes) return false;
  program_->names.push_back({constant_of(*program_, value), std::move(name)});
  ++*count;
  return true;
}

uint32_t Parser::parse_names(FmtOp op) {
  FmtNode node{.op = op};
  node.a = parse_expression();
  if (node.a == kBad || !take(',')) return kBad;
  if (op == FmtOp::kFlags) {
    std::string delimiter;
    if (!take_string(&delimiter) || !take(',')) return kBad;
    node.number = add_text(std::move(delimiter));
  }
  node.b = uint32_t(program_->names.size());
  do {
    skip_blanks();
    if (peek() == ')') break;
    if (!take('{') || !parse_name_row(&node.c)) return kBad;
  } while (take(','));
  return take(')') ? add(node) : kBad;
}

// __print_ns_to_secs(t): t / 1000000000; __print_ns_without_secs(t): the rest.
uint32_t Parser::parse_seconds(FmtOp op) {
  uint32_t value = parse_expression();
  if (!take(')')) return kBad;
  return add({.op = op, .a = value, .b = number(1000000000, 8, true)});
}

uint32_t Parser::parse_call(std::string_view name) {
  at_++;
  if (name == "__get_str" || name == "__get_rel_str" || name == "__get_dynamic_array" ||
      name == "__get_rel_dynamic_array")
    return parse_field_call(FmtOp::kArray);
  if (name == "__get_dynamic_array_len" || name == "__get_rel_dynamic_array_len")
    return parse_field_call(FmtOp::kArrayLen);
  if (name == "__get_bitmask" || name == "__get_rel_bitmask" || name == "__get_cpumask" ||
      name == "__get_rel_cpumask")
    return parse_field_call(FmtOp::kBitmask);
  if (name == "__get_stacktrace" || name == "__get_rel_stacktrace")
    return parse_field_call(FmtOp::kStack);
  if (name == "__get_sockaddr" || name == "__get_rel_sockaddr" || name == "__get_sockaddr_rel")
    return parse_field_call(FmtOp::kSocketAddress);
  if (name == "__print_flags" || name == "__print_flags_u64") return parse_names(FmtOp::kFlags);
  if (name == "__print_symbolic" || name == "__print_symbolic_u64")
    return parse_names(FmtOp::kSymbolic);
  if (name == "__print_hex") return parse_array_call(FmtOp::kHexBytes, true, 2);
  if (name == "__print_hex_str") return parse_array_call(FmtOp::kHexBytes, false, 2);
  if (name == "__print_array") return parse_array_call(FmtOp::kPrintArray, false, 3);
  if (name == "__print_ns_to_secs") return parse_seconds(FmtOp::kDivide);
  if (name == "__print_ns_without_secs") return parse_seconds(FmtOp::kModulo);
  return kBad;
}

// "(unsigned long)", "(const char *)", "(struct x *)": a cast. A single unknown word in parentheses
// is one when something follows that an operator could not begin with.
bool Parser::take_type(FmtNode* cast) {
  size_t start = at_++;
  uint8_t width = 0;
  int8_t is_unsigned = -1;
  int words = 0, pointers = 0, known = 0;
  bool after_tag = false;
  for (std::string_view word = take_word(); !word.empty(); word = take_word()) {
    const TypeWord* row = after_tag ? nullptr : find_type_word(word);
    words++;
    if (row || after_tag) known++;
    after_tag = word == "struct" || word == "enum" || word == "union";
    if (!row) continue;
    if (row->width) width = row->width;
    if (row->is_unsigned >= 0) is_unsigned = row->is_unsigned;
  }
  while (take('*')) {
    pointers++;
    while (take_word() == "const") {
    }
  }
  bool closed = words > 0 && take(')');
  skip_blanks();
  char next = peek();
  bool operand = is_name_char(next) || next == '(' || next == '"' || next == '\'';
  if (!closed || (known < words && !(words == 1 && operand) && !pointers)) {
    at_ = start;
    return false;
  }
  if (!width && known) width = 4;
  cast->op = pointers ? FmtOp::kPointer : FmtOp::kCast;
  cast->width = pointers > 1 ? 8 : width;  // 0: an unknown type, the value stays as it is
  cast->is_unsigned = is_unsigned == 1;
  return true;
}

// --- the format string

bool Parser::take_argument(uint32_t* node) {
  if (!take(',')) return false;
  uint32_t index = parse_expression();
  if (index == kBad) return false;
  *node = index + 1;
  return true;
}

bool Parser::take_count(const std::string& format, size_t* at, int* value, bool* star) {
  if (*at < format.size() && format[*at] == '*') {
    ++*at;
    *star = true;
    return true;
  }
  *value = 0;
  for (; *at < format.size() && is_digit(format[*at]); ++*at) {
    *value = *value * 10 + (format[*at] - '0');
    if (*value > kMaxWidth) return false;
  }
  return true;
}

struct LengthRow {
  std::string_view text;
  uint8_t size;
};
constexpr LengthRow kLengths[] = {{"hh", 1}, {"h", 2}, {"ll", 8}, {"l", 8}, {"L", 8},
                                  {"q", 8},  {"z", 8}, {"Z", 8},  {"j", 8}, {"t", 8}};

struct LetterRow {
  char letter;
  FmtStep::Kind kind;
};
constexpr LetterRow kLetters[] = {
    {'d', FmtStep::Kind::kSigned}, {'i', FmtStep::Kind::kSigned},   {'u', FmtStep::Kind::kUnsigned},
    {'x', FmtStep::Kind::kHex},    {'X', FmtStep::Kind::kUpperHex}, {'o', FmtStep::Kind::kOctal},
    {'c', FmtStep::Kind::kChar},   {'s', FmtStep::Kind::kString},   {'p', FmtStep::Kind::kPointer},
    {'e', FmtStep::Kind::kFloat},  {'f', FmtStep::Kind::kFloat},    {'g', FmtStep::Kind::kFloat},
};

void take_flags(const std::string& format, size_t* at, FmtStep* step) {
  for (; *at < format.size(); ++*at) {
    switch (format[*at]) {
      case '-':
        step->left = true;
        break;
      case '0':
        step->zero = true;
        break;
      case '+':
        step->plus = true;
        break;
      case ' ':
        step->blank = true;
        break;
      case '#':
        step->alternate = true;
        break;
      default:
        return;
    }
  }
}

// Behind a `%`.
bool Parser::parse_conversion(const std::string& format, size_t* at, FmtStep* step) {
  bool star = false;
  size_t start = *at;
  take_flags(format, at, step);
  if (!take_count(format, at, &step->width, &star)) return false;
  if (star && !take_argument(&step->width_node)) return false;
  if (*at < format.size() && format[*at] == '.') {
    ++*at;
    star = false;
    if (!take_count(format, at, &step->precision, &star)) return false;
    if (star && !take_argument(&step->precision_node)) return false;
  }
  step->plain = *at == start;
  std::string_view rest = std::string_view(format).substr(*at);
  for (const LengthRow& row : kLengths) {
    if (!rest.starts_with(row.text)) continue;
    step->size = row.size;
    *at += row.text.size();
    break;
  }
  char letter = *at < format.size() ? format[(*at)++] : '\0';
  for (const LetterRow& row : kLetters)
    if (letter == row.letter) step->kind = row.kind;
  if (step->kind == FmtStep::Kind::kEnd) return false;
  step->letter = letter;
  if (step->kind == FmtStep::Kind::kPointer)
    while (*at < format.size() && is_name_char(format[*at])) step->suffix += format[(*at)++];
  return take_argument(&step->node);
}

bool Parser::parse_format(const std::string& format) {
  FmtStep step;
  for (size_t at = 0; at < format.size();) {
    char c = format[at++];
    if (c != '%') {
      step.text += c;
    } else if (at < format.size() && format[at] == '%') {
      step.text += '%';
      at++;
    } else {
      if (!parse_conversion(format, &at, &step)) return false;
      program_->steps.push_back(std::move(step));
      step = {};
    }
  }
  program_->steps.push_back(std::move(step));
  mark_faults();
  return true;
}

// \"%s\" of a dynamic field: what a probe could not read is shown as (fault), without the quotes.
void Parser::mark_faults() {
  std::vector<FmtStep>& steps = program_->steps;
  for (size_t i = 0; i + 1 < steps.size(); i++) {
    if (steps[i].kind != FmtStep::Kind::kString || !steps[i].plain) continue;
    const FmtNode& node = program_->nodes[steps[i].node - 1];
    steps[i].may_be_fault = node.op == FmtOp::kArray && node.ref.kind == FieldRef::Kind::kDataLoc &&
                            steps[i].text.ends_with('"') && steps[i + 1].text.starts_with('"');
  }
}

bool Parser::parse() {
  std::string format;
  if (text_.size() > kMaxText || !take_string(&format) || !parse_format(format)) return false;
  skip_blanks();
  return at_ == text_.size();
}

}  // namespace

bool parse_print_fmt(const EventCall& call, PrintFormat::Program* program) {
  return Parser(call, program).parse();
}

}  // namespace patchbay
