// SPDX-License-Identifier: MIT
//
// One predicate: field [.ustring | .function] op value. The caret of an error stands one to the
// right of where the reading stopped, as the kernel's (docs/files.md, "Errors of filters").
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "base/text.h"
#include "filter/filter_parse.h"

namespace patchbay {
namespace {

using Kind = FilterField::Kind;

constexpr size_t kMaxNumber = 24;   // characters, from here on too long
constexpr size_t kMaxString = 256;  // the same

bool is_alnum(char c) { return is_digit(c) || is_letter(c); }
bool is_text(Kind kind) {
  return kind == Kind::kChars || kind == Kind::kDataLoc || kind == Kind::kRelLoc ||
         kind == Kind::kPointer || kind == Kind::kRestText || kind == Kind::kComm;
}
bool is_number_size(uint32_t size) { return size == 1 || size == 2 || size == 4 || size == 8; }

std::optional<FilterField> generic_field(std::string_view name) {
  if (name == "CPU" || name == "cpu" || name == "common_cpu")
    return FilterField{Kind::kCpu, 0, 4, true};
  if (name == "COMM" || name == "comm") return FilterField{Kind::kComm, 0, 16, false};
  if (name == "STACKTRACE" || name == "stacktrace")
    return FilterField{Kind::kStacktrace, 0, 0, false};
  return std::nullopt;
}

// 0x…, 0… and decimal, nothing left over.
std::optional<uint64_t> parse_unsigned(std::string_view text) {
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] | 0x20) == 'x') {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
  }
  uint64_t value = 0;
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<uint64_t> parse_number(std::string_view text, bool is_signed) {
  const bool negative = text.starts_with('-');
  if (negative && !is_signed) return std::nullopt;
  auto value = parse_unsigned(text.substr(negative ? 1 : 0));
  if (!value || !is_signed) return value;
  const uint64_t limit = uint64_t{1} << 63;
  if (*value > limit || (*value == limit && !negative)) return std::nullopt;
  return negative ? 0 - *value : *value;
}

// `value` as a field of that size holds it.
uint64_t cut_to(uint64_t value, uint32_t size, bool is_signed) {
  const unsigned unused = 64 - size * 8;
  return is_signed ? uint64_t(int64_t(value << unused) >> unused) : value << unused >> unused;
}

class PredParser {
 public:
  PredParser(std::string_view text, size_t start, const FilterContext& context, FilterPred* out)
      : text_(text), at_(start), context_(context), pred_(*out), insn_(out->insn) {}

  std::variant<size_t, FilterError> parse() {
    if (!parse_field() || !parse_operator() || !parse_value()) return std::move(error_);
    if (field_.known_bit) set_guard();
    return at_;
  }

 private:
  char at(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  void skip_blanks() {
    while (is_space(at(at_))) at_++;
  }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  // Always false, for `return fail(…)`.
  bool fail(const char* text) { return fail_at(text, at_); }
  bool fail_at(const char* text, size_t at) {
    error_ = {text, uint32_t(at + 1)};
    return false;
  }
  bool nameless() {
    error_ = {};
    return false;
  }

  void set_guard() {
    FilterInsn& guard = pred_.guard.emplace();
    guard.test = FilterTest::kNumber;
    guard.op = FilterOp::kAnyBit;
    guard.size = sizeof field_.known_bit;
    guard.offset = field_.known_offset;
    guard.value = field_.known_bit;
  }

  bool parse_field() {
    const size_t begin = at_;
    while (is_word_char(at(at_))) at_++;
    if (at_ == begin) return nameless();
    const std::string_view name = text_.substr(begin, at_ - begin);
    auto field = context_.field(name);
    if (!field) field = generic_field(name);
    if (!field) return fail(filter_errors::kFieldNotFound);
    field_ = *field;
    if (field_.kind == Kind::kNumber && !is_number_size(field_.size)) field_.kind = Kind::kOther;
    take(".ustring");  // kernel and user memory are one here
    is_function_ = take(".function");
    skip_blanks();
    return true;
  }

  bool parse_operator() {
    static constexpr std::pair<std::string_view, FilterOp> kOps[] = {
        {"!=", FilterOp::kNotEqual},     {"==", FilterOp::kEqual}, {"<=", FilterOp::kLessEqual},
        {">=", FilterOp::kGreaterEqual}, {"<", FilterOp::kLess},   {">", FilterOp::kGreater},
        {"&", FilterOp::kAnyBit},        {"~", FilterOp::kGlob},
    };
    for (const auto& [text, op] : kOps) {
      if (!take(text)) continue;
      insn_.op = op;
      insn_.offset = field_.offset;
      insn_.size = uint8_t(field_.size);
      insn_.is_signed = field_.is_signed;
      skip_blanks();
      return true;
    }
    return fail(filter_errors::kInvalidOperator);
  }

  bool parse_value() {
    const char c = at(at_);
    if (is_function_) return parse_function();
    const bool is_string = is_text(field_.kind);
    if (text_.substr(at_).starts_with(is_string ? "CPUS{" : "CPUS")) return parse_cpus();
    if (c == '\'' || c == '"') return parse_quoted();
    if (field_.kind == Kind::kReal) return parse_real();
    if (is_digit(c) || c == '-') return parse_integer();
    if (is_string && (is_word_start(c) || c == '/')) return parse_word();
    return fail(filter_errors::kInvalidValue);
  }

  bool parse_function() {
    if (field_.size != 8) return fail(filter_errors::kIllegalOperation);
    if (insn_.op != FilterOp::kEqual && insn_.op != FilterOp::kNotEqual)
      return fail(filter_errors::kInvalidOperator);
    std::string_view name;
    uint64_t address = 0;
    if (is_digit(at(at_))) {
      const size_t begin = at_;
      while (is_alnum(at(at_))) at_++;
      if (at_ - begin >= kMaxNumber) return fail(filter_errors::kOperandTooLong);
      auto value = parse_unsigned(text_.substr(begin, at_ - begin));
      if (!value) return fail(filter_errors::kInvalidValue);
      address = *value;
    } else {
      name = take_function_name();
    }
    insn_.test = FilterTest::kRange;
    insn_.invert = insn_.op == FilterOp::kNotEqual;
    const bool can_be_one = !name.empty() || address;
    if (!can_be_one || !context_.function ||
        !context_.function(name, address, &insn_.value, &insn_.end))
      return fail(filter_errors::kNoFunction);
    return true;
  }

  // Up to a blank; a C++ name may hold parentheses, but one that the name did not open is the
  // expression's, and so is && or || outside of them.
  std::string_view take_function_name() {
    const size_t begin = at_;
    for (int depth = 0; at_ < text_.size() && !is_space(at(at_)); at_++) {
      const char c = at(at_);
      if (c == '(') depth++;
      if (c == ')' && depth-- == 0) break;
      if (depth == 0 && (c == '&' || c == '|') && at(at_ + 1) == c) break;
    }
    return text_.substr(begin, at_ - begin);
  }

  bool parse_cpus() {
    const FilterOp op = insn_.op;
    if (is_text(field_.kind)) return fail(filter_errors::kIllegalOperation);
    if (op != FilterOp::kEqual && op != FilterOp::kNotEqual && op != FilterOp::kAnyBit)
      return fail(filter_errors::kIllegalOperation);
    at_ += 4;
    if (at(at_++) != '{') return fail(filter_errors::kMissingBraceOpen);
    const size_t begin = at_;
    while (at_ < text_.size() && at(at_) != '}') at_++;
    if (at_ == text_.size()) return fail(filter_errors::kMissingBraceClose);
    if (at_ == begin) return fail(filter_errors::kInvalidCpulist);
    auto cpus = parse_cpulist(text_.substr(begin, at_ - begin), context_.nr_cpus);
    if (!cpus) return fail(filter_errors::kInvalidCpulist);
    at_++;
    set_cpus(std::move(*cpus));
    return true;
  }

  void set_cpus(std::string cpus) {
    uint32_t count = 0, first = 0;
    for (uint32_t i = 0; i < cpus.size() * 8; i++) {
      if (!(uint8_t(cpus[i / 8]) >> i % 8 & 1)) continue;
      if (count++ == 0) first = i;
    }
    pred_.data = std::move(cpus);
    if (field_.kind == Kind::kCpumask) {
      insn_.test = FilterTest::kCpumask;
    } else if (field_.kind != Kind::kNumber && field_.kind != Kind::kCpu) {
      insn_.test = FilterTest::kNever;
    } else if (count == 1) {  // as the plain number
      if (insn_.op == FilterOp::kAnyBit) insn_.op = FilterOp::kEqual;
      set_number(first, false);
    } else if (insn_.op == FilterOp::kAnyBit) {
      const bool is_cpu = field_.kind == Kind::kCpu;
      insn_.test = is_cpu ? FilterTest::kCpuMember : FilterTest::kMember;
    } else {  // one CPU is never equal to several
      insn_.test = insn_.op == FilterOp::kEqual ? FilterTest::kNever : FilterTest::kAlways;
    }
  }

  void set_number(uint64_t value, bool is_signed) {
    insn_.is_signed = is_signed;
    if (field_.kind == Kind::kNumber || field_.kind == Kind::kCpu) {
      insn_.test = field_.kind == Kind::kCpu ? FilterTest::kCpu : FilterTest::kNumber;
      insn_.value = cut_to(value, field_.size, is_signed);
    } else {
      insn_.test = FilterTest::kNever;  // the stacktrace, and what is no number
    }
  }

  bool parse_integer() {
    if (is_text(field_.kind)) return fail(filter_errors::kExpectString);
    // Whose elements are behind the fixed part.
    const bool is_array = field_.kind == Kind::kOther && field_.size == 0;
    if (insn_.op == FilterOp::kGlob || is_array) return fail(filter_errors::kIllegalOperation);
    const size_t begin = at_;
    if (at(at_) == '-') at_++;
    while (is_alnum(at(at_))) at_++;
    if (at_ - begin >= kMaxNumber) return fail(filter_errors::kOperandTooLong);
    auto value = parse_number(text_.substr(begin, at_ - begin), field_.is_signed);
    if (!value) return fail_at(filter_errors::kIllegalInteger, begin);
    set_number(*value, field_.is_signed);
    return true;
  }

  bool parse_real() {
    if (insn_.op == FilterOp::kGlob || insn_.op == FilterOp::kAnyBit)
      return fail(filter_errors::kIllegalOperation);
    const size_t begin = at_;
    while (is_alnum(at(at_)) || at(at_) == '.' || at(at_) == '-' || at(at_) == '+') at_++;
    double value = 0;
    const auto [end, status] = std::from_chars(text_.data() + begin, text_.data() + at_, value);
    if (status != std::errc() || end != text_.data() + at_)
      return fail_at(filter_errors::kInvalidValue, begin);
    set_real(value);
    return true;
  }

  // The bits of floating-point numbers are ordered as signed integers, but for two negative ones,
  // which are ordered as unsigned ones and the other way round. A NaN is equal to nothing and in no
  // order: the second test of a predicate keeps it out. -0 equals 0.
  void set_real(double value) {
    if (field_.size == 4) value = float(value);
    insn_.test = FilterTest::kNumber;
    insn_.is_signed = false;
    if (std::isnan(value)) {
      insn_.test = insn_.op == FilterOp::kNotEqual ? FilterTest::kAlways : FilterTest::kNever;
    } else if (insn_.op == FilterOp::kEqual || insn_.op == FilterOp::kNotEqual) {
      insn_.value = real_bits(value == 0 ? 0 : value);
      if (value == 0) set_second(insn_.op, false, -0.0);
    } else {
      set_order(value);
    }
  }

  void set_order(double value) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const bool is_below = insn_.op == FilterOp::kLess || insn_.op == FilterOp::kLessEqual;
    const bool counts_zeros =
        insn_.op == FilterOp::kLess || insn_.op == FilterOp::kGreaterEqual;  // as those of -0
    if (value == 0) value = counts_zeros ? -0.0 : 0.0;
    const bool is_turned = std::signbit(value);
    if (is_turned) insn_.op = turned(insn_.op);
    insn_.is_signed = !is_turned;
    insn_.value = cut_to(real_bits(value), field_.size, insn_.is_signed);
    // Unsigned, the negative NaNs are above -inf and so above all; signed, the others above inf.
    set_second(FilterOp::kLessEqual, !is_below, is_below ? -kInfinity : kInfinity);
  }

  // As a field of that size holds it.
  uint64_t real_bits(double value) const {
    return field_.size == 4 ? std::bit_cast<uint32_t>(float(value))
                            : std::bit_cast<uint64_t>(value);
  }

  void set_second(FilterOp op, bool is_signed, double value) {
    FilterInsn& second = pred_.second.emplace(insn_);
    second.op = op;
    second.is_signed = is_signed;
    second.value = real_bits(value);
  }

  static FilterOp turned(FilterOp op) {
    switch (op) {
      case FilterOp::kLess:
        return FilterOp::kGreater;
      case FilterOp::kGreater:
        return FilterOp::kLess;
      case FilterOp::kLessEqual:
        return FilterOp::kGreaterEqual;
      case FilterOp::kGreaterEqual:
        return FilterOp::kLessEqual;
      default:
        return op;
    }
  }

  bool is_text_operator() const {
    return insn_.op == FilterOp::kEqual || insn_.op == FilterOp::kNotEqual ||
           insn_.op == FilterOp::kGlob;
  }

  bool parse_quoted() {
    if (!is_text_operator()) return fail(filter_errors::kIllegalOperation);
    if (!is_text(field_.kind)) return fail(filter_errors::kExpectNumber);
    const char quote = at(at_++);
    const size_t begin = at_;
    at_ = std::min(text_.find(quote, at_), text_.size());
    if (at_ == text_.size()) return fail(filter_errors::kMissingQuote);
    if (!set_text(text_.substr(begin, at_ - begin))) return false;
    at_++;
    return true;
  }

  bool parse_word() {
    if (!is_text_operator()) return fail(filter_errors::kIllegalOperation);
    const size_t begin = at_;
    constexpr std::string_view kEnds = "()&|'\"";
    while (at_ < text_.size() && !is_space(at(at_)) &&
           kEnds.find(at(at_)) == std::string_view::npos)
      at_++;
    return set_text(text_.substr(begin, at_ - begin));
  }

  bool set_text(std::string_view text) {
    if (text.size() >= kMaxString) return fail(filter_errors::kOperandTooLong);
    static constexpr std::pair<Kind, TextPlace> kPlaces[] = {
        {Kind::kChars, TextPlace::kChars},   {Kind::kDataLoc, TextPlace::kDataLoc},
        {Kind::kRelLoc, TextPlace::kRelLoc}, {Kind::kPointer, TextPlace::kPointer},
        {Kind::kRestText, TextPlace::kRest}, {Kind::kComm, TextPlace::kComm},
    };
    for (const auto& [kind, place] : kPlaces)
      if (kind == field_.kind) insn_.place = place;
    if (field_.kind == Kind::kDataLoc && field_.is_counted) insn_.place = TextPlace::kCounted;
    insn_.test = FilterTest::kText;
    insn_.field_size = field_.size;
    if (insn_.op == FilterOp::kGlob) {
      compile_glob(text, &pred_);
    } else {
      pred_.data = text;
      insn_.match = TextMatch::kWhole;
      insn_.invert = insn_.op == FilterOp::kNotEqual;
    }
    return true;
  }

  std::string_view text_;
  size_t at_;
  const FilterContext& context_;
  FilterPred& pred_;
  FilterInsn& insn_;
  FilterField field_;
  bool is_function_ = false;
  FilterError error_;
};

}  // namespace

[[gnu::cold]] std::variant<size_t, FilterError> parse_filter_pred(std::string_view text,
                                                                  size_t start,
                                                                  const FilterContext& context,
                                                                  FilterPred* out) {
  return PredParser(text, start, context, out).parse();
}

}  // namespace patchbay
