// SPDX-License-Identifier: MIT
//
// One line of function_events to a definition (docs/files.md): a state machine over tokens,
// whose states have the names that its errors show.
//
//   INIT [name =] [type TYPE name VAR = RESULT / void =] name FUNC ( PARAM type TYPE name VAR ) END
//                    |  type [ ARRAY 6 ARRAY_SIZE ] ARRAY_END name VAR
//                    |  type [ ARRAY < LENGTH name LENGTH_END / MOST 8 ARRAY_SIZE ] ARRAY_END …
//                    |  type [ / MOST 8 ARRAY_SIZE ] ARRAY_END name VAR
//                    |  string / LENGTH < LENGTH name LENGTH_END / MOST 8 ARRAY_END name VAR
//                    |  struct { type TYPE name , … } name VAR       (also | for the ',')
//   VAR:  + PLUS 4 VAR     [ BRACKET 2 INDIRECT ] BRACKET_END     = EQUAL 0x10 ADDR     = EQUAL $
//   SYMBOL name ADDR     BRACKET_END < BELOW name BELOW_END
//   VAR = EQUAL % REGISTER sp ADDR     = EQUAL \ 7 ADDR     = EQUAL ? ADDR
// ... behind a string is what its format reads; it stands like a NULL, and nothing that is passed
// behind it.
// SYMBOL errno is no variable of the program: it is the thread's, when a call returns.
//   VAR, BRACKET_END, BELOW_END and ADDR go on with ')' END, ',' COMMA, '|' PIPE; PARAM and COMMA
//   also take NULL, and of a call with a result `out` OUT type.
//
// A token is a maximal run of letters, digits and '_', or one other character; fields and events
// are called by ascii_name(). Ours beside the
// kernel's: lengths that a field says, the name of the event, the function's name
// (function_name.h), a $symbol's name that may be qualified, float and double, and that `double
// NULL` skips a vector register as `NULL` skips an integer one.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "abi/buffer_abi.h"
#include "base/text.h"
#include "event/function_event.h"
#include "event/function_event_atom.h"
#include "event/function_name.h"
#include "symbol/symbol.h"

namespace patchbay {

namespace {

enum class State : uint8_t {
  kInit,
  kResult,
  kFunc,
  kParam,
  kBracket,
  kBracketEnd,
  kIndirect,
  kUnsigned,
  kAddr,
  kEqual,
  kPipe,
  kPlus,
  kType,
  kArray,
  kArraySize,
  kArrayEnd,
  kLength,
  kLengthEnd,
  kMost,
  kBelow,
  kBelowEnd,
  kSymbol,
  kRegister,
  kVar,
  kComma,
  kNull,
  kOut,
  kEnd,
  kError,
};
constexpr std::string_view kStateNames[] = {
    "INIT",   "RESULT",     "FUNC", "PARAM", "BRACKET",   "BRACKET_END", "INDIRECT",   "UNSIGNED",
    "ADDR",   "EQUAL",      "PIPE", "PLUS",  "TYPE",      "ARRAY",       "ARRAY_SIZE", "ARRAY_END",
    "LENGTH", "LENGTH_END", "MOST", "BELOW", "BELOW_END", "SYMBOL",      "REGISTER",   "VAR",
    "COMMA",  "NULL",       "OUT",  "END",   "ERROR",
};

constexpr size_t kMaxErrorText = 232;  // of an entry, all three lines
constexpr uint64_t kMaxArrayBytes = abi::kMaxSubbufSize;
constexpr size_t kMaxEventName = 63;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_name(std::string_view token) { return !token.empty() && is_word_start(token[0]); }

// Decimal, 0x hexadecimal or 0 octal.
bool parse_number(std::string_view token, uint64_t* value) {
  unsigned base = 10;
  if (token.size() > 1 && token[0] == '0') {
    bool is_hex = token[1] == 'x' || token[1] == 'X';
    base = is_hex ? 16 : 8;
    token.remove_prefix(is_hex ? 2 : 1);
  }
  *value = 0;
  for (char c : token) {
    unsigned digit = unsigned(digit_value(c));
    if (digit >= base || *value > (UINT64_MAX - digit) / base) return false;
    *value = *value * base + digit;
  }
  return !token.empty();
}

bool parse_address(std::string_view token, uint64_t* value) {
  return token.size() > 2 && token[0] == '0' && (token[1] == 'x' || token[1] == 'X') &&
         parse_number(token, value);
}

bool is_one_of(char c, std::string_view set) { return set.find(c) != set.npos; }

// The bits of a number that the field can have.
bool parse_constant(std::string_view token, const FunctionEventField& field, uint64_t* bits) {
  if (is_float(field)) {
    const std::string text(token);
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (text.empty() || *end) return false;
    const float narrow = float(number);
    *bits = 0;
    if (field.atom_size == sizeof narrow)
      std::memcpy(bits, &narrow, sizeof narrow);
    else
      std::memcpy(bits, &number, sizeof number);
    return true;
  }
  const bool is_negative = token.starts_with('-');
  const bool is_signed = find_atom(field.atom)->is_signed && !field.is_unsigned_word;
  if ((is_negative && !is_signed) || !parse_number(token.substr(is_negative), bits)) return false;
  const uint64_t values = field.atom_size == 8 ? 0 : uint64_t{1} << (8 * field.atom_size);
  const uint64_t most = is_signed ? (values ? values / 2 : uint64_t{1} << 63) : values;
  if (most && (is_negative ? *bits > most : *bits >= most)) return false;
  if (is_negative) *bits = -*bits;
  return true;
}

// Of `NAME = function(`: one past the '='; 0: the line begins with the function. `operator=(` and
// `operator==(` are functions.
size_t find_name_end(std::string_view line) {
  size_t end = 0;
  while (end < line.size() && is_word_char(line[end])) end++;
  const std::string_view name = line.substr(0, end);
  if (!is_name(name) || name == "operator" || name == "void") return 0;
  while (end < line.size() && is_blank(line[end])) end++;
  return end < line.size() && line[end] == '=' ? end + 1 : 0;
}

// Of `int fd = open(`, `const char *text = f(`, `void = f(`: one past the '='; 0: the line begins
// with the function.
size_t find_result_end(std::string_view line) {
  const size_t equals = line.find_first_of("=(");
  if (equals == line.npos || line[equals] != '=') return 0;
  const std::string_view before = trim(line.substr(0, equals));
  if (before == "void") return equals + 1;
  size_t nr_words = 0;
  for (size_t at = 0; at < before.size();) {
    size_t end = at;
    while (end < before.size() && is_word_char(before[end])) end++;
    const std::string_view word = before.substr(at, end - at);
    if (word == "operator") return 0;
    nr_words += is_name(word);
    at = std::max(end, at + 1);
  }
  const bool ends_well = !before.empty() && (is_word_char(before.back()) || before.back() == ']');
  return nr_words >= 2 && ends_well ? equals + 1 : 0;
}

// A type as a header writes it, `const char *`, `struct outer **`, `ns::Box &`: what it is here.
struct PointerType {
  size_t length = 0;  // 0: it is none
  bool is_text = false;
};

PointerType scan_pointer(std::string_view line) {
  constexpr std::string_view kQualifiers[] = {"const", "volatile", "restrict", "__restrict"};
  PointerType pointer;
  size_t nr_stars = 0, nr_words = 0, at = 0;
  bool is_const = false, is_char = false;
  while (at < line.size()) {
    size_t end = at;
    while (end < line.size() && (is_word_char(line[end]) || line.substr(end, 2) == "::"))
      end += is_word_char(line[end]) ? 1 : 2;
    const std::string_view word = line.substr(at, end - at);
    const bool is_qualifier =
        std::find(std::begin(kQualifiers), std::end(kQualifiers), word) != std::end(kQualifiers);
    if (line[at] == '*' || line[at] == '&') {
      nr_stars++;
      pointer.length = end = at + 1;
    } else if (is_qualifier) {
      is_const |= word == "const" && !nr_stars;
      if (nr_stars) pointer.length = end;
    } else if (is_name(word) && !nr_stars) {
      is_char = word == "char";
      nr_words++;
    } else if (!is_blank(line[at])) {
      break;
    } else {
      end = at + 1;
    }
    at = end;
  }
  if (!nr_words || !pointer.length) return {};
  pointer.is_text = is_char && is_const && nr_words == 1 && nr_stars == 1;
  return pointer;
}

// How much of a long first line is shown around the caret.
struct Window {
  std::string line;
  size_t caret;
};

// Cuts the line's ends, never the offending token, so that all of the entry fits in its limit: the
// line has `columns`, the caret's line one more than the caret.
Window fit(std::string line, size_t caret, size_t budget) {
  size_t before = budget / 3;
  if (line.size() + caret + 3 > budget && caret > before) {
    line = "..." + line.substr(caret - (before - 3));
    caret = before;
  }
  size_t room = budget > caret + 3 ? budget - caret - 3 : 0;
  if (line.size() > room) line.resize(room);
  return {std::move(line), caret};
}

class FunctionEventParser {
 public:
  FunctionEventParser(std::string_view line,
                      const std::function<uint64_t(std::string_view)>& address_of)
      : line_(line), address_of_(address_of) {}
  FunctionEventParse run();

 private:
  using Source = FunctionEventField::Source;
  // Where a field's type stands: the place to show if the argument turns out to be one too many.
  struct Place {
    size_t shown = 0;  // length of the canonical text before it
    size_t begin = 0, end = 0;
  };

  void next_token();
  State step(State state);
  State on_init();
  State on_function();
  State on_out();
  State on_rest();
  State on_param(State state);
  State on_type();
  State on_struct();
  bool add_member();
  bool finish_struct();
  State on_name();
  State on_var(State state);
  State on_delimiter();
  State on_array();
  State on_length();
  State on_length_end();
  State on_most();
  State on_below();
  bool check_lengths();
  const FunctionEventField* find_number(const std::string& name) const;
  State finish_result();
  State on_suffix(bool is_index);
  State on_equal(bool named);
  State on_symbol();
  State on_errno();
  State on_register();
  State set_special(Source source, std::string_view name);
  State set_address(uint64_t address, std::string_view symbol);
  State on_constant();
  State on_missing();
  bool is_plain_number();
  State begin_field();
  void take_c_name();
  State add_null(std::string atom);
  bool has_index() {
    const auto& suffixes = field().suffixes;
    return std::any_of(suffixes.begin(), suffixes.end(), [](const auto& s) { return s.is_index; });
  }
  bool finish_field();
  bool check_wide();
  bool finish_arg();
  bool count_position();
  // cold: small rather than quick
  [[gnu::cold]] bool refuse(std::string message);
  [[gnu::cold]] std::string help(State state) const;
  [[gnu::cold]] FunctionEventParse fail(State state);

  FunctionEventArg& arg() { return def_.args.back(); }
  FunctionEventField& field() { return arg().fields.back(); }
  void show(std::string_view text) { shown_ += text; }
  void show_word(std::string_view text) {
    constexpr std::string_view kOpen = "({ ";
    if (!shown_.empty() && kOpen.find(shown_.back()) == kOpen.npos) shown_ += ' ';
    shown_ += text;
  }

  std::string_view line_;
  const std::function<uint64_t(std::string_view)>& address_of_;
  size_t begin_ = 0, end_ = 0;  // of the token
  std::string_view token_;
  std::string shown_;    // the canonical text so far
  std::string message_;  // third line of the error, if it is not the usual one
  Place place_, type_place_;
  struct Length {
    Place place;        // of the field's type
    size_t arg, field;  // of the result: kOfResult
  };
  static constexpr size_t kOfResult = ~size_t{0};
  void note_length() {
    lengths_.push_back(
        {type_place_, in_result_ ? kOfResult : def_.args.size() - 1, arg().fields.size() - 1});
  }
  std::vector<Length> lengths_;  // fields whose length another one says
  bool named_ = false;           // the field that gets an address has a name
  bool unsigned_ = false;
  bool is_pointer_ = false;       // the type was written as a pointer
  bool is_text_pointer_ = false;  // some type of the argument was written as const char *
  bool in_arg_ = false;
  bool has_rest_ = false;   // `...`
  bool in_result_ = false;  // the only argument is the result until its '='
  bool out_ = false;
  ArgumentPlaces places_;
  uint32_t nr_positions_ = 0;
  uint64_t array_bytes_ = 0;
  FunctionEventDef def_;
};

void FunctionEventParser::next_token() {
  begin_ = end_;
  while (begin_ < line_.size() && is_blank(line_[begin_])) begin_++;
  end_ = begin_;
  while (end_ < line_.size() && is_word_char(line_[end_])) end_++;
  if (end_ == begin_ && end_ < line_.size()) end_++;
  token_ = line_.substr(begin_, end_ - begin_);
}

State FunctionEventParser::on_init() {
  if (size_t equals = find_name_end(line_.substr(begin_))) {
    def_.event = ascii_name(token_);  // which may be longer, and has to be readable again
    if (def_.event.size() > kMaxEventName) {
      message_ = "Error: The name of an event has at most 63 characters";
      if (def_.event.size() > token_.size()) message_ += "; one that is not of ASCII counts as 6";
      return State::kError;
    }
    show(def_.event + "=");
    end_ = begin_ + equals;
    next_token();
  }
  const size_t result = find_result_end(line_.substr(begin_));
  if (!result) return on_function();
  def_.is_call = true;
  if (token_ != "void" || trim(line_.substr(begin_, result - 1)) != "void") {
    in_result_ = true;
    return on_param(State::kPipe);
  }
  show("void = ");
  end_ = begin_ + result;
  return State::kResult;
}

State FunctionEventParser::on_function() {
  size_t length = scan_function_name(line_.substr(begin_));
  if (!length) return State::kError;
  end_ = begin_ + length;
  def_.function = line_.substr(begin_, length);
  show(def_.function);
  return State::kFunc;
}

// `long double`, `__int128`, `unsigned __int128`: their names here.
void FunctionEventParser::take_c_name() {
  if (token_ == "__int128") {
    token_ = unsigned_ ? "u128" : "s128";
    unsigned_ = false;
    return;
  }
  const std::string_view behind = line_.substr(end_);
  const size_t next = behind.find_first_not_of(" \t");
  if (token_ != "long" || unsigned_ || next == behind.npos) return;
  const std::string_view word = behind.substr(next);
  if (!word.starts_with("double") || (word.size() > 6 && is_word_char(word[6]))) return;
  token_ = "float80";
  end_ += next + 6;
}

// A pointer is a number, but a `const char *`, which is a text.
State FunctionEventParser::begin_field() {
  const PointerType pointer = scan_pointer(line_.substr(begin_));
  is_pointer_ = pointer.length;
  is_text_pointer_ = (in_arg_ && is_text_pointer_) || pointer.is_text;
  if (is_pointer_) {
    end_ = begin_ + pointer.length;
    token_ = pointer.is_text ? "string" : "x64";
  }
  take_c_name();
  const FunctionEventAtom* atom = find_atom(token_);
  if (!atom || (unsigned_ && atom->unsigned_conversion.empty())) return State::kError;
  type_place_ = {shown_.size(), begin_, end_};
  if (!in_arg_) {
    def_.args.emplace_back();
    in_arg_ = true;
  }
  arg().fields.emplace_back();
  field().is_unsigned_word = unsigned_;
  field().is_out = std::exchange(out_, false);
  if (in_result_) field().source = Source::kResult;
  field().atom = atom->name;
  field().atom_size = atom->size;
  show_word(token_);
  unsigned_ = false;
  return State::kType;
}

State FunctionEventParser::add_null(std::string atom) {
  if (atom.empty()) {
    def_.args.emplace_back();
    type_place_ = {shown_.size(), begin_, end_};
  }
  arg().is_null = true;
  arg().null_atom = std::move(atom);
  arg().fields.clear();
  show_word(token_);
  in_arg_ = true;
  return State::kNull;
}

[[gnu::cold]] State FunctionEventParser::on_param(State state) {
  if (state == State::kParam && token_ == ")") {
    show(")");
    return State::kEnd;
  }
  const bool is_word_alone = token_ == "unsigned" && !scan_pointer(line_.substr(begin_)).length;
  if (state != State::kUnsigned && is_word_alone) {
    unsigned_ = true;
    show_word(token_);
    return State::kUnsigned;
  }
  bool may_skip = state == State::kParam || state == State::kComma;
  if (may_skip && line_.substr(begin_, 3) == "...") return on_rest();
  if (may_skip && token_ == "NULL") return add_null("");
  if (token_ == "out" && !in_result_ && !out_ && state != State::kUnsigned) return on_out();
  const std::string_view behind = trim(line_.substr(end_));
  if (token_ == "struct" && behind.starts_with('{')) return on_struct();
  return begin_field();
}

// What a format reads is known by the argument in front. As `const char *` that may be any text: it
// has to be called as a format is.
State FunctionEventParser::on_rest() {
  end_ = begin_ + 3;
  token_ = line_.substr(begin_, 3);
  const FunctionEventField* format = nullptr;
  if (!def_.args.empty() && !arg().struct_size)
    for (const FunctionEventField& each : arg().fields)
      if (!format && is_format(each)) format = &each;
  if (!format || (is_text_pointer_ && !is_printf_like(def_.function, format->name))) {
    message_ = "Error: ... is read by a format in front of it, as in printf(string format, ...)";
    return State::kError;
  }
  for (const FunctionEventArg& arg : def_.args)
    for (const FunctionEventField& each : arg.fields)
      if (each.name == kFormatArgsField) {
        message_ = "Error: The field varargs is what the format reads";
        return State::kError;
      }
  type_place_ = {shown_.size(), begin_, end_};
  def_.args.emplace_back();
  in_arg_ = has_rest_ = true;
  FunctionEventField& rest = arg().fields.emplace_back();
  rest.source = Source::kFormatArgs;
  rest.atom = "string";
  rest.atom_size = find_atom("string")->size;
  rest.name = kFormatArgsField;
  show_word(token_);
  return State::kAddr;
}

// Behind "struct": the members in braces, and the name.
State FunctionEventParser::on_struct() {
  if (unsigned_ || out_ || (in_arg_ && !arg().fields.empty())) return State::kError;
  const Place place{shown_.size(), begin_, end_};
  show_word("struct {");
  next_token();
  bool is_beside = false;
  do {
    next_token();
    if (!add_member()) return State::kError;
    field().is_beside = is_beside;
    next_token();
    is_beside = token_ == "|";
    if (token_ == "," || is_beside) show(is_beside ? " | " : ", ");
  } while (token_ == "," || is_beside);
  if (token_ != "}") {
    if (token_ == "[" || token_ == "+")
      message_ = "Error: A member of a structure is a number, a text or a pointer";
    return State::kError;
  }
  show("}");
  next_token();
  if (!is_name(token_)) return State::kError;
  show_word(token_);
  arg().struct_name = ascii_name(token_);
  type_place_ = place;
  return finish_struct() ? State::kVar : State::kError;
}

bool FunctionEventParser::add_member() {
  unsigned_ = token_ == "unsigned" && !scan_pointer(line_.substr(begin_)).length;
  if (unsigned_) {
    show_word(token_);
    next_token();
  }
  if (begin_field() == State::kError) return false;
  next_token();
  if (!is_name(token_)) return false;
  show_word(token_);
  field().name = ascii_name(token_);
  return true;
}

// As C lays it out: each member aligned to its size.
bool FunctionEventParser::finish_struct() {
  constexpr uint32_t kMaxStructBytes = kMaxStackArgs * 8;
  uint32_t size = 0, alignment = 1, last_bytes = 0;
  for (FunctionEventField& member : arg().fields) {
    const uint32_t bytes = is_string(member) ? 8 : member.atom_size;
    if (member.is_beside && (bytes != last_bytes || is_float(member) || is_long_double(member)))
      return refuse("Error: Behind | stands the same member as a number of its size");
    if (member.is_beside) size -= bytes;
    last_bytes = bytes;
    member.member_at = (size + bytes - 1) / bytes * bytes;
    member.name = arg().struct_name + "_" + member.name;
    size = member.member_at + bytes;
    alignment = std::max(alignment, bytes);
    if (size > kMaxStructBytes)
      return refuse("Error: A structure has at most " + std::to_string(kMaxStructBytes) + " bytes");
  }
  arg().struct_size = (size + alignment - 1) / alignment * alignment;
  arg().struct_alignment = alignment;
  is_pointer_ = false;
  return true;
}

// A type may have that name, too: `out *where`.
State FunctionEventParser::on_out() {
  const std::string_view behind = trim(line_.substr(end_));
  if (behind.empty() || !is_word_start(behind[0])) return begin_field();
  if (!def_.is_call) {
    message_ =
        "Error: out is for a call with its result, as in int n = read(int fd, out string/n buf)";
    return State::kError;
  }
  out_ = true;
  show_word("out");
  return State::kOut;
}

State FunctionEventParser::on_type() {
  if (token_ == "[" && !is_string(field())) {
    show("[");
    return State::kArray;
  }
  if (token_ == "/" && is_string(field())) {
    show("/");
    return State::kLength;
  }
  bool alone = arg().fields.size() == 1 && !in_result_ && !field().is_out;
  if (alone && is_float(field()) && token_ == "NULL") return add_null(field().atom);
  return on_name();
}

// Behind "TYPE[" or "string/": the field that says how much there is.
State FunctionEventParser::on_length() {
  if (token_ == "<" && !field().length_is_end) {
    field().length_is_end = true;
    show("<");
    return State::kLength;
  }
  if (!is_name(token_)) return State::kError;
  if (field().atom == "char") {
    message_ = "Error: A text of so many bytes is string/" + std::string(token_.substr(0, 64));
    return State::kError;
  }
  field().length = ascii_name(token_);
  field().most = most_by_default(field());
  note_length();
  show(token_);
  return State::kLengthEnd;
}

State FunctionEventParser::on_length_end() {
  if (token_ == "/") {
    show("/");
    return State::kMost;
  }
  if (is_string(field())) return on_name();
  if (token_ != "]") return State::kError;
  show("]");
  return State::kArrayEnd;
}

State FunctionEventParser::on_most() {
  uint64_t most;
  if (!parse_number(token_, &most) || !most) return State::kError;
  if (most > most_by_default(field())) {
    message_ = "Error: Too many (max of " + std::to_string(most_by_default(field())) + ")";
    return State::kError;
  }
  field().most = uint32_t(most);
  show(std::to_string(most));
  return is_string(field()) ? State::kArrayEnd : State::kArraySize;
}

// Behind a number in memory and '<': the field with the address that it has to be below.
State FunctionEventParser::on_below() {
  if (!is_name(token_)) return State::kError;
  field().below = ascii_name(token_);
  note_length();
  show(token_);
  return State::kBelowEnd;
}

// The first of that name is taken.
const FunctionEventField* FunctionEventParser::find_number(const std::string& name) const {
  for (const FunctionEventArg& arg : def_.args)
    for (const FunctionEventField& field : arg.fields)
      if (field.name == name && can_be_length(field) && !arg.struct_size) return &field;
  if (!def_.result || def_.result->struct_size) return nullptr;
  const FunctionEventField& result = def_.result->fields[0];
  return result.name == name && can_be_length(result) ? &result : nullptr;
}

// A length may be a field behind it.
bool FunctionEventParser::check_lengths() {
  for (const Length& one : lengths_) {
    const FunctionEventField& field =
        one.arg == kOfResult ? def_.result->fields[0] : def_.args[one.arg].fields[one.field];
    const bool is_bound = !field.below.empty();
    const std::string& name = is_bound ? field.below : field.length;
    const FunctionEventField* number = find_number(name);
    type_place_ = one.place;
    if (!number || (is_bound && !number->below.empty()))
      return refuse("Error: No field '" + name.substr(0, 64) + "' that is a number");
    if (is_of_return(*number) && !is_of_return(field))
      return refuse("Error: " + name.substr(0, 64) + " is known when the call returns: write out");
  }
  return true;
}

State FunctionEventParser::on_array() {
  uint64_t length;
  if (token_ == "<" || is_name(token_)) return on_length();
  if (token_ == "/" && field().atom != "char") {
    show("/");
    return State::kMost;
  }
  if (!parse_number(token_, &length) || !length) return State::kError;
  uint64_t room = (kMaxArrayBytes - array_bytes_) / field().atom_size;
  if (length > room) {
    message_ = "Error: Record too large (max of " + std::to_string(kMaxArrayBytes) + ")";
    return State::kError;
  }
  array_bytes_ += length * field().atom_size;
  field().array_len = uint32_t(length);
  show(std::to_string(length));
  return State::kArraySize;
}

// Behind a type: the field's name, or the address that it is read from and named after.
State FunctionEventParser::on_name() {
  if (is_name(token_)) {
    field().name = ascii_name(token_);
    show_word(token_);
    return State::kVar;
  }
  if (in_result_) return State::kError;
  show_word("");
  return on_equal(false);
}

State FunctionEventParser::on_equal(bool named) {
  named_ = named;
  uint64_t address;
  if (token_ == "$") {
    show("$");
    return State::kSymbol;
  }
  if (token_ == "%") {
    show("%");
    return State::kRegister;
  }
  if (token_ == "\\" && named) return on_constant();
  if (token_ == "?" && named) return on_missing();
  if (!parse_address(token_, &address)) return State::kError;
  return set_address(address, "");
}

// What stands for no argument has no part beside it, and is a value itself.
bool FunctionEventParser::is_plain_number() {
  return arg().fields.size() == 1 && !field().is_out && !is_string(field()) && !is_wide(field()) &&
         !field().is_array();
}

// An argument that is the same at each call, which a compiler has taken out of the function.
State FunctionEventParser::on_constant() {
  if (!is_plain_number()) {
    message_ = "Error: A constant is a number and stands by itself, as in int level=\\3";
    return State::kError;
  }
  const size_t begin = end_;
  while (end_ < line_.size() && (is_name_char(line_[end_]) || is_one_of(line_[end_], "+-.")))
    end_++;
  token_ = line_.substr(begin, end_ - begin);
  if (!parse_constant(token_, field(), &field().address)) {
    message_ = "Error: Behind \\ stands a number that a " + field().atom + " can have";
    return State::kError;
  }
  field().source = Source::kConstant;
  show("\\" + std::string(token_));
  return State::kAddr;
}

// An argument of which nobody knows where it is: a compiler has taken it away.
State FunctionEventParser::on_missing() {
  if (arg().fields.size() != 1 || field().is_out) {
    message_ = "Error: ? stands by itself";
    return State::kError;
  }
  field().source = Source::kMissing;
  show("?");
  return State::kAddr;
}

// A variable of a program may be qualified: $ns::counter, $library.so:counter.
State FunctionEventParser::on_symbol() {
  auto belongs = [](char c) {
    return is_word_char(c) || c == '.' || c == ':' || c == '@' || c == '$';
  };
  if (!is_name(token_)) return State::kError;
  while (end_ < line_.size() && belongs(line_[end_])) end_++;
  token_ = line_.substr(begin_, end_ - begin_);
  if (token_ == kErrnoField) return on_errno();
  uint64_t address = address_of_ ? address_of_(token_) : 0;
  if (!address) return State::kError;
  shown_.pop_back();  // the '$': an address is shown as a number
  return set_address(address, token_);
}

State FunctionEventParser::on_errno() {
  if (!def_.is_call)
    message_ =
        "Error: $errno is for a call with its result, as in int fd = open(string path, int $errno)";
  else if (def_.error || arg().fields.size() != 1 || field().is_out)
    message_ = "Error: $errno stands by itself, and once";
  else if (!can_be_length(field()) || field().atom == "char" || field().atom == "symbol")
    message_ = "Error: $errno is a number: int $errno";
  return message_.empty() ? set_special(Source::kErrno, kErrnoField) : State::kError;
}

// Where the return address stands when the function is called.
State FunctionEventParser::on_register() {
  if (token_ != kStackField) {
    message_ = "Error: The only register is %sp; arguments are read by their place";
    return State::kError;
  }
  if (arg().fields.size() != 1 || field().is_out)
    message_ = "Error: %sp stands by itself";
  else if (!can_be_length(field()) || field().atom == "char")
    message_ = "Error: %sp is a number: x64 %sp";
  return message_.empty() ? set_special(Source::kStack, kStackField) : State::kError;
}

State FunctionEventParser::set_special(Source source, std::string_view name) {
  if (!named_) field().name = name;
  field().source = source;
  show(name);
  return State::kAddr;
}

State FunctionEventParser::set_address(uint64_t address, std::string_view symbol) {
  field().source = Source::kAddress;
  field().address = address;
  field().address_symbol = symbol;
  if (!named_) {
    field().name = symbol.empty() ? hex_number(address) : make_identifier(symbol);
    show(field().name);
  }
  if (named_ || !symbol.empty()) show((named_ ? "" : "=") + hex_number(address));
  return State::kAddr;
}

State FunctionEventParser::on_suffix(bool is_index) {
  uint64_t value;
  if (!parse_number(token_, &value)) return State::kError;
  field().suffixes.push_back({is_index, value});
  show(std::to_string(value));
  return is_index ? State::kIndirect : State::kVar;
}

// VAR and BRACKET_END: another suffix, or an address if there is none yet, or the end of the field.
State FunctionEventParser::on_var(State state) {
  char c = token_.empty() ? '\0' : token_[0];
  if (is_pointer_ && (c == '+' || c == '[')) {
    message_ = "Error: What a pointer points to is written with its type, as in int NAME[0]";
    return State::kError;
  }
  if (c == '=' && in_result_) return finish_result();
  if (arg().struct_size) return on_delimiter();
  if (c == '<' && state == State::kBracketEnd && !is_string(field()) && !field().is_array()) {
    show(token_);
    return State::kBelow;
  }
  if (c == '+' || c == '[' || (c == '=' && state == State::kVar && field().suffixes.empty())) {
    show(token_);
    return c == '+' ? State::kPlus : c == '[' ? State::kBracket : State::kEqual;
  }
  return on_delimiter();
}

State FunctionEventParser::finish_result() {
  if (!finish_field()) return State::kError;
  def_.result = std::move(arg());
  places_ = first_place(def_);
  def_.args.clear();
  in_arg_ = in_result_ = false;
  show(" = ");
  return State::kResult;
}

State FunctionEventParser::on_delimiter() {
  if (in_result_) return State::kError;
  char c = token_.empty() ? '\0' : token_[0];
  const bool is_alone = !arg().fields.empty() && !field().is_passed() &&
                        field().source != Source::kAddress;
  bool may_join = !arg().is_null && !arg().struct_size && !is_alone;
  if (c != ')' && c != ',' && !(c == '|' && may_join)) return State::kError;
  if (!finish_field()) return State::kError;
  if (c != '|' && !finish_arg()) return State::kError;
  show(c == '|' ? " | " : c == ',' ? ", " : ")");
  return c == '|' ? State::kPipe : c == ',' ? State::kComma : State::kEnd;
}

// What is wrong with a field is known at its end, and shown where it begins.
bool FunctionEventParser::refuse(std::string message) {
  begin_ = type_place_.begin;
  end_ = type_place_.end;
  token_ = line_.substr(begin_, end_ - begin_);
  shown_.resize(type_place_.shown);
  message_ = std::move(message);
  return false;
}

// 16 bytes are in two registers, or in memory.
bool FunctionEventParser::check_wide() {
  const bool is_mixed = is_wide(field()) != is_wide(arg().fields[0]);
  if (!is_wide(field()) && !is_mixed) return true;
  if (is_mixed || field().is_array() || !field().suffixes.empty() || field().is_out ||
      field().source == Source::kAddress)
    return refuse("Error: " + field().atom + " and other types of 16 bytes are values themselves");
  return true;
}

// A field's type may be followed by what decides where it is passed, so these are checked at its
// end.
bool FunctionEventParser::finish_field() {
  if (arg().is_null || arg().struct_size) return true;
  if (!check_wide()) return false;
  if (field().source == Source::kFormatArgs) return true;
  // A text of that name alone would be shown as one that a format has read.
  if ((has_rest_ || is_string(field())) && field().name == kFormatArgsField)
    return refuse("Error: The field varargs is what the format reads");
  if (def_.is_call && field().name == kDurationField)
    return refuse("Error: The field duration is the time that the call takes");
  const bool is_memory =
      is_string(field()) || field().is_array() || has_index() || !field().is_passed();
  if (field().is_out && !is_memory)
    return refuse("Error: out is for what a pointer points to, as in out " + field().atom + " " +
                  field().name.substr(0, 64) + "[0]");
  if (!field().is_passed()) return true;
  using Passed = FunctionEventArg::Passed;
  const auto& suffixes = field().suffixes;
  if (is_float(field()) && !field().is_array() && !suffixes.empty() && !has_index())
    return refuse("Error: Offset into a " + field().atom + " without an index");
  FunctionEventArg before;
  before.fields.assign(arg().fields.begin(), arg().fields.end() - 1);
  Passed others = before.passed();
  before.fields.assign(arg().fields.end() - 1, arg().fields.end());
  if (others != Passed::kNowhere && others != before.passed())
    return refuse("Error: Floating-point and integer fields in one argument");
  return true;
}

bool FunctionEventParser::count_position() {
  const ValueClass value = class_of(arg());
  if (!value.nr_words) return true;
  if (has_rest_) return refuse("Error: ... is the last of what is passed");
  nr_positions_++;
  const bool on_stack = places_.on_stack(value);
  places_.take(value);
  if (!on_stack) return true;
  for (const FunctionEventField& each : arg().fields)
    if (each.is_out) return refuse("Error: An argument on the stack is the function's own: no out");
  if (places_.stack > kMaxStackArgs)
    return refuse("Error: Too many arguments (max of " + std::to_string(kMaxStackArgs) +
                  " on the stack)");
  def_.uses_stack = true;
  return true;
}

bool FunctionEventParser::finish_arg() {
  const uint32_t position = nr_positions_;
  if (!count_position()) return false;
  for (FunctionEventField& each : arg().fields) each.position = uint8_t(position);
  in_arg_ = false;
  if (arg().is_null || field().source != Source::kErrno) return true;
  def_.error = std::move(field());
  def_.args.pop_back();
  return true;
}

State FunctionEventParser::step(State state) {
  auto expect = [&](std::string_view token, State next) {
    if (token_ != token) return State::kError;
    show(token);
    return next;
  };
  switch (state) {
    case State::kInit:
      return on_init();
    case State::kResult:
      return on_function();
    case State::kOut:
      return on_param(State::kPipe);
    case State::kFunc:
      return expect("(", State::kParam);
    case State::kParam:
    case State::kComma:
    case State::kPipe:
    case State::kUnsigned:
      return on_param(state);
    case State::kType:
      return on_type();
    case State::kArray:
      return on_array();
    case State::kArraySize:
      return expect("]", State::kArrayEnd);
    case State::kArrayEnd:
      return on_name();
    case State::kLength:
      return on_length();
    case State::kLengthEnd:
      return on_length_end();
    case State::kMost:
      return on_most();
    case State::kVar:
    case State::kBracketEnd:
      return on_var(state);
    case State::kPlus:
      return on_suffix(false);
    case State::kBracket:
      return on_suffix(true);
    case State::kIndirect:
      return expect("]", State::kBracketEnd);
    case State::kEqual:
      return on_equal(true);
    case State::kBelow:
      return on_below();
    case State::kBelowEnd:
      return on_delimiter();
    case State::kSymbol:
      return on_symbol();
    case State::kRegister:
      return on_register();
    case State::kAddr:
    case State::kNull:
      return on_delimiter();
    case State::kEnd:
    case State::kError:
      break;
  }
  return State::kError;
}

std::string FunctionEventParser::help(State state) const {
  if (!message_.starts_with("Unexpected token")) return "";
  if (state == State::kEnd)
    return "A definition ends with its list; what a function returns stands before it: int NAME = "
           "FUNCTION(...).";
  if (state == State::kFunc && is_name(token_))
    return "A result has a name and is told from the function by '=', as in int NAME = "
           "FUNCTION(...).";
  const bool wants_type = state == State::kParam || state == State::kComma ||
                          state == State::kPipe || state == State::kUnsigned;
  if (!wants_type || !is_name(token_)) return "";
  std::string text = "There is no type " + std::string(token_);
  const std::vector<std::string_view> names = atom_names();
  const std::vector<std::string> near = near_matches(token_, names);
  for (const std::string& name : near) text += (name == near[0] ? "; did you mean " : ", ") + name;
  if (!near.empty()) return text + "?";
  text += "; the types are";
  for (std::string_view name : names) text.append(" ").append(name);
  return text + ", and pointers.";
}

FunctionEventParse FunctionEventParser::fail(State state) {
  if (token_.empty()) {
    message_ = "Unexpected ending";
  } else if (message_.empty()) {
    message_ = "Unexpected token '" + std::string(token_.substr(0, 64)) + "' for ";
    message_ += std::string(kStateNames[size_t(state)]) + " state";
  }
  while (!shown_.empty() && shown_.back() == ' ') shown_.pop_back();
  std::string line = shown_.empty() ? "" : shown_ + " ";
  size_t caret = line.size();
  line += token_;
  size_t rest = end_;
  while (rest < line_.size() && is_blank(line_[rest])) rest++;
  if (rest < line_.size()) line += " " + std::string(line_.substr(rest));
  Window window = fit(std::move(line), caret, kMaxErrorText - message_.size());
  FunctionEventParse result;
  const size_t column = nr_columns(std::string_view(window.line).substr(0, window.caret));
  std::string text = window.line + "\n" + std::string(column, ' ') + "^\n" + message_;
  result.error = FunctionEventError{std::move(text), message_, begin_, help(state)};
  result.function_was_parsed = !def_.function.empty();
  return result;
}

FunctionEventParse FunctionEventParser::run() {
  State state = State::kInit;
  for (;;) {
    next_token();
    if (token_.empty() && state == State::kEnd) {
      if (!check_lengths()) return fail(state);
      break;
    }
    State next = token_.empty() ? State::kError : step(state);
    if (next == State::kError) return fail(state);
    state = next;
  }
  FunctionEventParse result;
  result.def = std::move(def_);
  result.function_was_parsed = true;
  return result;
}

}  // namespace

bool is_function_event_line(std::string_view line) {
  size_t begin = find_name_end(line);
  begin += find_result_end(line.substr(begin));
  while (begin < line.size() && is_blank(line[begin])) begin++;
  const size_t length = scan_function_name(line.substr(begin));
  return length && line.substr(begin + length).starts_with('(');
}

std::string_view without_event_name(std::string_view line) {
  return trim(line.substr(find_name_end(line)));
}

[[gnu::cold]] FunctionEventParse parse_function_event(
    std::string_view line, const std::function<uint64_t(std::string_view)>& address_of) {
  return FunctionEventParser(line, address_of).run();
}

}  // namespace patchbay
