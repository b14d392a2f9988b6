// SPDX-License-Identifier: MIT
//
// N@OP, as GCC's and Clang's assembler writes operands (AT&T): $5  %edi  -16(%rbp)
// 8(%rax,%rdx,4)  name+8(%rip). N is the size, negative for signed, with `f` behind it for floats.
#include <array>
#include <charconv>

#include "base/text.h"
#include "event/sdt_event.h"

namespace patchbay {
namespace {

using Place = SdtArgument::Place;

bool starts_symbol(char c) { return is_word_start(c) || c == '.'; }
bool continues_symbol(char c) { return starts_symbol(c) || is_digit(c) || c == '$' || c == '@'; }

// The names of one register, by width; the number is that of machine code.
struct RegisterNames {
  std::string_view names[4];
};
constexpr std::array<RegisterNames, 16> kRegisters = {{
    {{"rax", "eax", "ax", "al"}},
    {{"rcx", "ecx", "cx", "cl"}},
    {{"rdx", "edx", "dx", "dl"}},
    {{"rbx", "ebx", "bx", "bl"}},
    {{"rsp", "esp", "sp", "spl"}},
    {{"rbp", "ebp", "bp", "bpl"}},
    {{"rsi", "esi", "si", "sil"}},
    {{"rdi", "edi", "di", "dil"}},
    {{"r8", "r8d", "r8w", "r8b"}},
    {{"r9", "r9d", "r9w", "r9b"}},
    {{"r10", "r10d", "r10w", "r10b"}},
    {{"r11", "r11d", "r11w", "r11b"}},
    {{"r12", "r12d", "r12w", "r12b"}},
    {{"r13", "r13d", "r13w", "r13b"}},
    {{"r14", "r14d", "r14w", "r14b"}},
    {{"r15", "r15d", "r15w", "r15b"}},
}};
constexpr int kXmmRegisters = 16;  // that FetchRegisters has

int register_number(std::string_view name, bool whole) {
  for (size_t i = 0; i < kRegisters.size(); i++)
    for (const std::string_view& known : kRegisters[i].names)
      if (known == name && (!whole || &known == &kRegisters[i].names[0])) return int(i);
  return -1;
}

class OperandParser {
 public:
  OperandParser(std::string_view text, SdtArgument* out) : text_(text), out_(*out) {}

  bool parse() {
    if (text_.starts_with('$')) {
      text_.remove_prefix(1);
      out_.place = Place::kConstant;
      return parse_sum() && text_.empty();
    }
    if (text_.starts_with('%')) return parse_register() && text_.empty();
    out_.place = Place::kMemory;
    if (!text_.starts_with('(') && !parse_sum()) return false;
    return (text_.empty() || parse_address()) && text_.empty();
  }

 private:
  bool take(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  std::string_view take_register_name() {
    size_t size = 0;
    while (size < text_.size() && text_[size] >= '0' && text_[size] <= 'z') size++;
    std::string_view name = text_.substr(0, size);
    text_.remove_prefix(size);
    return name;
  }

  bool parse_register() {
    take('%');
    const std::string_view name = take_register_name();
    int number = -1;
    if (name.starts_with("xmm")) {
      const char* end = name.data() + name.size();
      const auto [stop, status] = std::from_chars(name.data() + 3, end, number);
      out_.place = Place::kXmm;
      out_.base = int8_t(number);
      return status == std::errc() && stop == end && number >= 0 && number < kXmmRegisters;
    }
    number = register_number(name, false);
    out_.place = Place::kRegister;
    out_.base = int8_t(number);
    return number >= 0;
  }

  // Numbers and at most one symbol: 8  -8+16  name  name+8  8+name
  bool parse_sum() {
    uint64_t sum = 0;
    bool any = false;
    while (!text_.empty() && text_[0] != '(') {
      const bool negative = text_[0] == '-';
      if (!take('-') && !take('+') && any) return false;
      any = true;
      if (!text_.empty() && starts_symbol(text_[0])) {
        if (negative || !out_.symbol.empty()) return false;
        take_symbol();
        continue;
      }
      uint64_t number;
      if (!take_number(&number)) return false;
      sum += negative ? 0 - number : number;
    }
    out_.offset = int64_t(sum);
    return any;
  }
  bool take_number(uint64_t* number) {
    const bool hex = text_.starts_with("0x");
    if (hex) text_.remove_prefix(2);
    const auto [end, status] =
        std::from_chars(text_.data(), text_.data() + text_.size(), *number, hex ? 16 : 10);
    if (status != std::errc()) return false;
    text_.remove_prefix(size_t(end - text_.data()));
    return true;
  }
  void take_symbol() {
    size_t size = 0;
    while (size < text_.size() && continues_symbol(text_[size])) size++;
    out_.symbol = text_.substr(0, size);
    text_.remove_prefix(size);
  }

  // (base) (base,index) (base,index,scale) (,index,scale)
  bool parse_address() {
    if (!take('(')) return false;
    if (take('%')) {
      const std::string_view base = take_register_name();
      if (base == "rip") return !out_.symbol.empty() && take(')');
      out_.base = int8_t(register_number(base, true));
      if (out_.base < 0) return false;
    }
    if (take(')')) return out_.base >= 0;
    if (!take(',') || !take('%')) return false;
    out_.index = int8_t(register_number(take_register_name(), true));
    if (out_.index < 0) return false;
    if (take(',')) {
      uint64_t scale;
      if (!take_number(&scale) || (scale != 1 && scale != 2 && scale != 4 && scale != 8))
        return false;
      out_.scale = uint8_t(scale);
    }
    return take(')');
  }

  std::string_view text_;
  SdtArgument& out_;
};

// N@ in front of the operand. Without it: 8 bytes.
std::string_view take_size(std::string_view text, SdtArgument* argument) {
  const size_t at = text.find('@');
  if (at == std::string_view::npos || text[0] == '%' || text[0] == '$') return text;
  std::string_view size = text.substr(0, at);
  int value = 0;
  const auto [end, status] = std::from_chars(size.data(), size.data() + size.size(), value);
  if (status != std::errc()) return text;
  const std::string_view rest(end, size_t(size.data() + size.size() - end));
  const int bytes = value < 0 ? -value : value;
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) return {};
  if (!rest.empty() && rest != "f") return {};
  argument->size = uint8_t(bytes);
  argument->is_signed = value < 0;
  argument->is_float = rest == "f";
  if (argument->is_float && bytes < 4) return {};  // nobody shows one as a number
  return text.substr(at + 1);
}

SdtArgument parse_argument(std::string_view text) {
  SdtArgument argument;
  const std::string_view operand = take_size(text, &argument);
  SdtArgument parsed = argument;
  if (!operand.empty() && OperandParser(operand, &parsed).parse()) return parsed;
  return argument;
}

}  // namespace

std::vector<SdtArgument> parse_sdt_arguments(std::string_view text) {
  std::vector<SdtArgument> arguments;
  while (arguments.size() < kMaxSdtArguments) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    if (text.empty()) break;
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    arguments.push_back(parse_argument(word));
  }
  return arguments;
}

}  // namespace patchbay
