// SPDX-License-Identifier: MIT
// Runs a print format over a record. See print_fmt.h for what is promised of hostile input.
#include "output/print_fmt.h"

#include <elf.h>
#include <sys/auxv.h>

#include <algorithm>
#include <array>

#include "output/print_fmt_program.h"
#include "output/text_put.h"
#include "output/trace_line.h"

namespace patchbay {

namespace {

constexpr size_t kMaxArrayText = 4096;  // elements of one array that are shown

struct Value {
  enum class Kind : uint8_t { kNumber, kFloat, kText, kBytes };
  Kind kind = Kind::kNumber;
  uint8_t width = 4;  // of a number
  bool is_unsigned = false;
  uint8_t elem = 1;  // of kBytes
  bool elem_signed = false;
  bool elem_float = false;
  bool made = false;  // kText in the scratch: only good until the next text is made
  uint64_t number = 0;
  double real = 0;
  std::span<const uint8_t> bytes = {};  // kText, kBytes
};

uint64_t extend(uint64_t value, unsigned size, bool is_signed) {
  if (size >= 8) return value;
  unsigned unused = 64 - 8 * size;
  value <<= unused;
  return is_signed ? uint64_t(int64_t(value) >> unused) : value >> unused;
}

Value number_value(uint64_t number, uint8_t width, bool is_unsigned) {
  Value value;
  value.width = width;
  value.is_unsigned = is_unsigned;
  value.number = extend(number, width, !is_unsigned);
  return value;
}

// What C makes of an element of `size` bytes.
Value load_number(const uint8_t* at, uint8_t size, bool is_signed) {
  uint64_t raw = 0;
  std::memcpy(&raw, at, size);
  raw = extend(raw, size, is_signed);
  return number_value(raw, size == 8 ? 8 : 4, !is_signed && size >= 4);
}

std::string_view as_text(std::span<const uint8_t> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.substr(0, text.find('\0'));
}

class Runner {
 public:
  Runner(const PrintFormat::Program& program, std::span<const uint8_t> record, TextContext* context)
      : program_(program), record_(record), context_(context) {}
  void run(std::string* out);
  Value eval(uint32_t index);

 private:
  std::span<const uint8_t> field_bytes(const FieldRef& ref) const;
  Value eval_field(const FieldRef& ref) const;
  Value eval_index(const FmtNode& node);
  Value eval_binary(const FmtNode& node);
  Value eval_cast(const FmtNode& node);
  Value made_text(size_t start);
  Value eval_flags(const FmtNode& node);
  Value eval_symbolic(const FmtNode& node);
  Value eval_hex_bytes(const FmtNode& node);
  Value eval_array(const FmtNode& node);
  Value eval_bitmask(const FieldRef& ref);
  Value eval_stack(const FmtNode& node);
  Value eval_other(const FmtNode& node);

  void put_short(Pieces* out, const FmtStep& step) const;
  bool is_fault(const FieldRef& ref) const;
  void put_step(std::string* out, const FmtStep& step);
  void put_integer(std::string* out, const FmtStep& step, uint64_t number, int width,
                   int precision);
  void put_text(std::string* out, std::string_view text, const FmtStep& step, int width,
                int precision, bool foreign);
  void put_string(std::string* out, const FmtStep& step, const Value& value, int width,
                  int precision);
  void put_real(std::string* out, const FmtStep& step, const Value& value, int width,
                int precision);
  void put_pointer(std::string* out, const FmtStep& step, const Value& value, int width);
  void put_address(std::string* out, const Value& value, char suffix);

  const PrintFormat::Program& program_;
  std::span<const uint8_t> record_;
  TextContext* context_;
};

std::span<const uint8_t> Runner::field_bytes(const FieldRef& ref) const {
  if (ref.offset > record_.size()) return {};
  std::span<const uint8_t> rest = record_.subspan(ref.offset);
  bool data_loc = ref.kind == FieldRef::Kind::kDataLoc;
  if (!data_loc && ref.kind != FieldRef::Kind::kRelLoc)
    return ref.kind == FieldRef::Kind::kRestText
               ? rest
               : rest.first(std::min<size_t>(ref.size, rest.size()));
  if (rest.size() < 4) return {};
  uint32_t where = load<uint32_t>(rest.data());
  size_t begin = (where & 0xffff) + (data_loc ? 0 : size_t(ref.offset) + 4), size = where >> 16;
  if (begin > record_.size() || size > record_.size() - begin) return {};
  return record_.subspan(begin, size);
}

Value load_real(const uint8_t* at, size_t size) {
  Value value;
  value.kind = Value::Kind::kFloat;
  value.real = size == 4 ? double(load<float>(at)) : load<double>(at);
  return value;
}

Value Runner::eval_field(const FieldRef& ref) const {
  Value value;
  std::span<const uint8_t> bytes = field_bytes(ref);
  switch (ref.kind) {
    case FieldRef::Kind::kNumber:
      if (bytes.size() < ref.size) return value;
      return load_number(bytes.data(), uint8_t(ref.size), ref.is_signed);
    case FieldRef::Kind::kFloat:
      value.kind = Value::Kind::kFloat;
      return bytes.size() >= ref.size ? load_real(bytes.data(), ref.size) : value;
    case FieldRef::Kind::kText:
    case FieldRef::Kind::kRestText:
      value.kind = Value::Kind::kText;
      value.elem_signed = ref.is_signed;
      value.bytes = bytes;
      return value;
    default:
      value.kind = Value::Kind::kBytes;
      value.elem = ref.elem;
      value.elem_float = ref.elem_float;
      value.elem_signed = ref.is_signed;
      value.bytes = bytes;
      return value;
  }
}

Value Runner::eval_index(const FmtNode& node) {
  Value array = eval(node.a);
  if (array.kind != Value::Kind::kText && array.kind != Value::Kind::kBytes) return {};
  if (array.made) return {};
  Value index = eval(node.b);
  size_t elem = array.elem, count = array.bytes.size() / elem;
  if (index.number >= count) return {};
  if (array.elem_float) return load_real(array.bytes.data() + index.number * elem, elem);
  return load_number(array.bytes.data() + index.number * elem, uint8_t(elem), array.elem_signed);
}

Value Runner::eval_cast(const FmtNode& node) {
  Value value = eval(node.a);
  if (value.kind == Value::Kind::kFloat && node.op == FmtOp::kCast) {
    if (!(value.real > -9e18 && value.real < 9e18)) value.real = 0;
    value = number_value(uint64_t(int64_t(value.real)), 8, false);
  }
  if (node.op == FmtOp::kPointer) {
    if (value.kind == Value::Kind::kNumber) return number_value(value.number, 8, true);
    if (value.made || (node.width != 1 && node.width != 2 && node.width != 4 && node.width != 8))
      return value;
    value.elem = node.width;
    value.elem_signed = !node.is_unsigned;
    return value;
  }
  if (value.kind != Value::Kind::kNumber || node.width == 0) return value;
  if (node.width >= 4) return number_value(value.number, node.width, node.is_unsigned);
  return number_value(extend(value.number, node.width, !node.is_unsigned), 4, false);
}

uint64_t divide(const Value& a, const Value& b, bool is_unsigned, bool modulo) {
  if (b.number == 0) return 0;
  if (is_unsigned) return modulo ? a.number % b.number : a.number / b.number;
  if (int64_t(b.number) == -1) return modulo ? 0 : 0 - a.number;  // INT64_MIN / -1 would trap
  return uint64_t(modulo ? int64_t(a.number) % int64_t(b.number)
                         : int64_t(a.number) / int64_t(b.number));
}

bool less(const Value& a, const Value& b, bool is_unsigned) {
  return is_unsigned ? a.number < b.number : int64_t(a.number) < int64_t(b.number);
}

uint64_t shift(const Value& a, const Value& b, bool left) {
  if (b.number >= 8u * a.width) return 0;
  if (left) return a.number << b.number;
  return a.is_unsigned ? a.number >> b.number : uint64_t(int64_t(a.number) >> b.number);
}

bool truth(const Value& value) {
  if (value.kind == Value::Kind::kNumber) return value.number != 0;
  return value.kind == Value::Kind::kFloat ? value.real != 0 : true;
}

Value Runner::eval_binary(const FmtNode& node) {
  Value a = eval(node.a);
  if (node.op == FmtOp::kAnd || node.op == FmtOp::kOr) {
    if (truth(a) == (node.op == FmtOp::kOr)) return number_value(truth(a), 4, false);
    return number_value(truth(eval(node.b)), 4, false);
  }
  Value b = eval(node.b);
  // The usual arithmetic conversions.
  uint8_t width = std::max(a.width, b.width);
  bool is_unsigned = (a.is_unsigned && a.width == width) || (b.is_unsigned && b.width == width);
  if (node.op == FmtOp::kShiftLeft || node.op == FmtOp::kShiftRight)
    return number_value(shift(a, b, node.op == FmtOp::kShiftLeft), a.width, a.is_unsigned);
  a = number_value(a.number, width, is_unsigned);
  b = number_value(b.number, width, is_unsigned);
  auto arithmetic = [&](uint64_t result) { return number_value(result, width, is_unsigned); };
  auto comparison = [](bool result) { return number_value(result, 4, false); };
  switch (node.op) {
    case FmtOp::kMultiply:
      return arithmetic(a.number * b.number);
    case FmtOp::kDivide:
      return arithmetic(divide(a, b, is_unsigned, false));
    case FmtOp::kModulo:
      return arithmetic(divide(a, b, is_unsigned, true));
    case FmtOp::kAdd:
      return arithmetic(a.number + b.number);
    case FmtOp::kSubtract:
      return arithmetic(a.number - b.number);
    case FmtOp::kBitAnd:
      return arithmetic(a.number & b.number);
    case FmtOp::kBitXor:
      return arithmetic(a.number ^ b.number);
    case FmtOp::kBitOr:
      return arithmetic(a.number | b.number);
    case FmtOp::kLess:
      return comparison(less(a, b, is_unsigned));
    case FmtOp::kLessEqual:
      return comparison(!less(b, a, is_unsigned));
    case FmtOp::kGreater:
      return comparison(less(b, a, is_unsigned));
    case FmtOp::kGreaterEqual:
      return comparison(!less(a, b, is_unsigned));
    case FmtOp::kEqual:
      return comparison(a.number == b.number);
    default:
      return comparison(a.number != b.number);
  }
}

Value Runner::made_text(size_t start) {
  Value value;
  value.kind = Value::Kind::kText;
  value.made = true;
  value.bytes = {reinterpret_cast<const uint8_t*>(context_->scratch.data()) + start,
                 context_->scratch.size() - start};
  return value;
}

// kernel/trace/trace_output.c trace_print_flags_seq(): names of bits in table order, what is left
// in hexadecimal.
Value Runner::eval_flags(const FmtNode& node) {
  uint64_t flags = eval(node.a).number;
  std::string& text = context_->scratch;
  size_t start = text.size();
  bool first = true;
  auto separate = [&] {
    if (!first) text += program_.texts[node.number];
    first = false;
  };
  for (uint32_t i = node.b; i < node.b + node.c && flags; i++) {
    const FmtName& name = program_.names[i];
    if ((flags & name.value) != name.value) continue;
    separate();
    text += name.name;
    flags &= ~name.value;
  }
  if (flags) {
    separate();
    text += "0x";
    put_hex(&text, flags);
  }
  return made_text(start);
}

Value Runner::eval_symbolic(const FmtNode& node) {
  uint64_t number = eval(node.a).number;
  Value value;
  value.kind = Value::Kind::kText;
  for (uint32_t i = node.b; i < node.b + node.c; i++) {
    if (program_.names[i].value != number) continue;
    const std::string& name = program_.names[i].name;
    value.bytes = {reinterpret_cast<const uint8_t*>(name.data()), name.size()};
    value.made = true;
    return value;
  }
  size_t start = context_->scratch.size();
  context_->scratch += "0x";
  put_hex(&context_->scratch, number);
  return made_text(start);
}

Value Runner::eval_hex_bytes(const FmtNode& node) {
  Value array = eval(node.a);
  uint64_t count = eval(node.b).number;
  if (array.made) array.bytes = {};
  size_t start = context_->scratch.size();
  count = std::min<uint64_t>({count, array.bytes.size(), kMaxArrayText});
  for (size_t i = 0; i < count; i++) {
    if (i && node.width) context_->scratch += ' ';
    put_hex_byte(&context_->scratch, array.bytes[i]);
  }
  return made_text(start);
}

Value Runner::eval_array(const FmtNode& node) {
  Value array = eval(node.a);
  uint64_t count = eval(node.b).number, elem = eval(node.c).number;
  if (array.made) array.bytes = {};
  std::string& text = context_->scratch;
  size_t start = text.size();
  text += '{';
  if (elem == 1 || elem == 2 || elem == 4 || elem == 8) {
    count = std::min<uint64_t>({count, array.bytes.size() / elem, kMaxArrayText});
    for (size_t i = 0; i < count; i++) {
      text += i ? ",0x" : "0x";
      put_hex(&text, load_number(array.bytes.data() + i * elem, uint8_t(elem), false).number);
    }
  }
  text += '}';
  return made_text(start);
}

// As %*pb: groups of 32 bits, the highest first.
Value Runner::eval_bitmask(const FieldRef& ref) {
  std::span<const uint8_t> bytes = field_bytes(ref);
  size_t start = context_->scratch.size();
  for (size_t i = std::min(bytes.size(), kMaxArrayText); i > 0; i--) {
    put_hex_byte(&context_->scratch, bytes[i - 1]);
    if (i > 1 && (i - 1) % 4 == 0) context_->scratch += ',';
  }
  return made_text(start);
}

Value Runner::eval_stack(const FmtNode& node) {
  std::span<const uint8_t> bytes = field_bytes(node.ref);
  const bool counted = node.width == 1;
  size_t start = context_->scratch.size();
  for (size_t i = counted ? 8 : 0; i + 8 <= std::min(bytes.size(), kMaxArrayText); i += 8) {
    uint64_t address = load<uint64_t>(bytes.data() + i);
    if (address == ~uint64_t{0}) break;
    context_->scratch += i && !counted ? "\n=> " : "=> ";
    // The first is the place itself, the others are callers.
    context_->scratch += i == (counted ? 8 : 0) ? context_->addresses->of(address).full
                                                : context_->addresses->caller(address).full;
    if (counted) context_->scratch += '\n';
  }
  return made_text(start);
}

Value Runner::eval_other(const FmtNode& node) {
  Value value;
  switch (node.op) {
    case FmtOp::kText: {
      const std::string& text = program_.texts[node.a];
      value.kind = Value::Kind::kText;
      value.made = true;
      value.bytes = {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
      return value;
    }
    case FmtOp::kArrayLen:
      return number_value(field_bytes(node.ref).size(), 4, false);
    case FmtOp::kNegate:
      value = eval(node.a);
      return number_value(0 - value.number, value.width, value.is_unsigned);
    case FmtOp::kInvert:
      value = eval(node.a);
      return number_value(~value.number, value.width, value.is_unsigned);
    case FmtOp::kNot:
      return number_value(!truth(eval(node.a)), 4, false);
    case FmtOp::kChoose:
      return eval(truth(eval(node.a)) ? node.b : node.c);
    default:
      return eval_binary(node);
  }
}

Value Runner::eval(uint32_t index) {
  const FmtNode& node = program_.nodes[index];
  switch (node.op) {
    case FmtOp::kNumber:
      return number_value(node.number, node.width, node.is_unsigned);
    case FmtOp::kField:
    case FmtOp::kArray:
      return eval_field(node.ref);
    case FmtOp::kIndex:
      return eval_index(node);
    case FmtOp::kCast:
    case FmtOp::kPointer:
      return eval_cast(node);
    case FmtOp::kFlags:
      return eval_flags(node);
    case FmtOp::kSymbolic:
      return eval_symbolic(node);
    case FmtOp::kHexBytes:
      return eval_hex_bytes(node);
    case FmtOp::kPrintArray:
      return eval_array(node);
    case FmtOp::kBitmask:
      return eval_bitmask(node.ref);
    case FmtOp::kStack:
      return eval_stack(node);
    case FmtOp::kSocketAddress: {
      Value value = eval_field(node.ref);
      value.elem = 1;
      return value;
    }
    default:
      return eval_other(node);
  }
}

// --- conversions

void put_filled(std::string* out, std::string_view text, int width, bool left, char fill = ' ') {
  size_t missing = width > 0 && size_t(width) > text.size() ? size_t(width) - text.size() : 0;
  if (!left) out->append(missing, fill);
  out->append(text);
  if (left) out->append(missing, ' ');
}

void Runner::put_integer(std::string* out, const FmtStep& step, uint64_t number, int width,
                         int precision) {
  char digits[72];
  bool is_signed = step.kind == FmtStep::Kind::kSigned;
  number = extend(number, step.size, is_signed);
  bool negative = is_signed && int64_t(number) < 0;
  if (negative) number = 0 - number;
  bool hex = step.kind == FmtStep::Kind::kHex || step.kind == FmtStep::Kind::kUpperHex;
  int base = hex ? 16 : step.kind == FmtStep::Kind::kOctal ? 8 : 10;
  char* end = std::to_chars(digits, digits + sizeof digits, number, base).ptr;
  if (step.kind == FmtStep::Kind::kUpperHex)
    for (char* c = digits; c < end; c++) *c = *c >= 'a' ? char(*c - 32) : *c;
  std::string_view text(digits, size_t(end - digits));
  std::string_view sign = negative                                       ? "-"
                          : is_signed && step.plus                       ? "+"
                          : is_signed && step.blank                      ? " "
                          : !step.alternate                              ? ""
                          : step.kind == FmtStep::Kind::kHex             ? "0x"
                          : step.kind == FmtStep::Kind::kUpperHex        ? "0X"
                          : step.kind == FmtStep::Kind::kOctal && number ? "0"
                                                                         : "";
  if (precision == 0 && number == 0) text = {};
  size_t zeros =
      precision > 0 && size_t(precision) > text.size() ? size_t(precision) - text.size() : 0;
  size_t used = sign.size() + zeros + text.size();
  size_t fill = width > 0 && size_t(width) > used ? size_t(width) - used : 0;
  bool zero_fill = step.zero && !step.left && precision < 0;
  if (!step.left && !zero_fill) out->append(fill, ' ');
  out->append(sign);
  out->append(zeros + (zero_fill ? fill : 0), '0');
  out->append(text);
  if (step.left) out->append(fill, ' ');
}

void Runner::put_text(std::string* out, std::string_view text, const FmtStep& step, int width,
                      int precision, bool foreign) {
  if (precision >= 0) text = text.substr(0, size_t(precision));
  if (!foreign || !context_->escape) return put_filled(out, text, width, step.left);
  size_t missing = width > 0 && size_t(width) > text.size() ? size_t(width) - text.size() : 0;
  if (!step.left) out->append(missing, ' ');
  append_escaped(out, text);
  if (step.left) out->append(missing, ' ');
}

void Runner::put_string(std::string* out, const FmtStep& step, const Value& value, int width,
                        int precision) {
  if (value.kind == Value::Kind::kText || value.kind == Value::Kind::kBytes)
    return put_text(out, as_text(value.bytes), step, width, precision, true);
  // A pointer to a text that nobody has any more.
  char digits[24] = "(0x";
  char* end = std::to_chars(digits + 3, digits + sizeof digits - 1, value.number, 16).ptr;
  *end++ = ')';
  put_filled(out, {digits, size_t(end - digits)}, width, step.left);
}

void Runner::put_real(std::string* out, const FmtStep& step, const Value& value, int width,
                      int precision) {
  char digits[512];
  double real = value.kind == Value::Kind::kFloat ? value.real : double(int64_t(value.number));
  std::chars_format form = step.letter == 'f'   ? std::chars_format::fixed
                           : step.letter == 'e' ? std::chars_format::scientific
                                                : std::chars_format::general;
  precision = precision < 0 ? 6 : std::min(precision, 100);
  auto result = std::to_chars(digits, digits + sizeof digits, real, form, precision);
  std::string_view text(digits, result.ec == std::errc() ? size_t(result.ptr - digits) : 0);
  put_filled(out, text, width, step.left, step.zero && !step.left && real >= 0 ? '0' : ' ');
}

std::span<const uint8_t> pointed_bytes(const Value& value) {
  return value.made ? std::span<const uint8_t>{} : value.bytes;
}

void put_ip4(std::string* out, std::span<const uint8_t> bytes, bool leading_zeros) {
  for (size_t i = 0; i < 4; i++) {
    if (i) *out += '.';
    put_padded(out, i < bytes.size() ? bytes[i] : 0, leading_zeros ? 3 : 1, '0');
  }
}

// RFC 5952: the longest run of two or more zero groups becomes "::".
void put_ip6_short(std::string* out, std::span<const uint8_t> bytes) {
  uint16_t group[8] = {};
  for (size_t i = 0; i < 8 && 2 * i + 1 < bytes.size(); i++)
    group[i] = uint16_t(bytes[2 * i] << 8 | bytes[2 * i + 1]);
  size_t best = 8, best_length = 1;
  for (size_t i = 0; i < 8; i++) {
    size_t end = i;
    while (end < 8 && group[end] == 0) end++;
    if (end - i > best_length) best = i, best_length = end - i;
  }
  bool mapped = best == 0 && best_length == 5 && group[5] == 0xffff;
  for (size_t i = 0; i < 8; i++) {
    if (i == best) {
      *out += i == 0 ? "::" : ":";
      i += best_length - 1;
    } else if (mapped && i == 6) {
      return put_ip4(out, bytes.subspan(12), false);
    } else {
      put_hex(out, group[i]);
      if (i < 7) *out += ':';
    }
  }
}

void put_ip6(std::string* out, std::span<const uint8_t> bytes, bool colons) {
  for (size_t i = 0; i < 16; i++) {
    if (colons && i && i % 2 == 0) *out += ':';
    put_hex_byte(out, i < bytes.size() ? bytes[i] : 0);
  }
}

// %pISpc and its like: what a struct sockaddr says.
void put_socket_address(std::string* out, std::span<const uint8_t> bytes, std::string_view suffix) {
  uint16_t family = bytes.size() >= 2 ? load<uint16_t>(bytes.data()) : 0;
  bool port = suffix.find('p') != std::string_view::npos;
  bool v4 = family == 2 && bytes.size() >= 8, v6 = family == 10 && bytes.size() >= 24;
  if (!v4 && !v6) {
    *out += "(not an address)";
    return;
  }
  if (v4) put_ip4(out, bytes.subspan(4, 4), false);
  if (v6 && port) *out += '[';
  if (v6) {
    if (suffix.find('c') != std::string_view::npos) {
      put_ip6_short(out, bytes.subspan(8, 16));
    } else {
      put_ip6(out, bytes.subspan(8, 16), true);
    }
  }
  if (v6 && port) *out += ']';
  if (!port) return;
  *out += ':';
  put_number(out, unsigned(bytes[2] << 8 | bytes[3]));
}

void put_mac(std::string* out, std::span<const uint8_t> bytes, std::string_view suffix) {
  bool reversed = suffix.find('R') != std::string_view::npos;
  char between = suffix.starts_with('m')                      ? '\0'
                 : suffix.find('F') != std::string_view::npos ? '-'
                                                              : ':';
  for (size_t i = 0; i < 6; i++) {
    if (i && between) *out += between;
    size_t at = reversed ? 5 - i : i;
    put_hex_byte(out, at < bytes.size() ? bytes[at] : 0);
  }
}

void put_uuid(std::string* out, std::span<const uint8_t> bytes, std::string_view suffix) {
  static constexpr uint8_t kLittle[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
  bool little = suffix.size() > 1 && (suffix[1] == 'l' || suffix[1] == 'L');
  for (size_t i = 0; i < 16; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *out += '-';
    size_t at = little ? kLittle[i] : i;
    put_hex_byte(out, at < bytes.size() ? bytes[at] : 0);
  }
}

void put_buffer(std::string* out, std::span<const uint8_t> bytes, std::string_view suffix,
                int length) {
  char between = ' ';
  if (suffix.size() > 1)
    between = suffix[1] == 'C' ? ':' : suffix[1] == 'D' ? '-' : suffix[1] == 'N' ? '\0' : ' ';
  size_t count = std::min<size_t>({bytes.size(), 64, length > 0 ? size_t(length) : bytes.size()});
  for (size_t i = 0; i < count; i++) {
    if (i && between) *out += between;
    put_hex_byte(out, bytes[i]);
  }
}

// %p itself, %px, %pK: 16 digits in the kernel's way, 0x… in that of trace-cmd.
void Runner::put_address(std::string* out, const Value& value, char suffix) {
  uint64_t address = value.number;
  if (context_->trace_cmd) {
    *out += "0x";
    return put_hex(out, address);
  }
  bool error_pointer = address >= ~uint64_t{4094};
  if (suffix != 'x' && context_->hash_ptr && address && !error_pointer)
    address = hashed_pointer(address);
  put_padded(out, address, 16, '0', 16);
}

// lib/vsprintf.c pointer(): the letter behind %p says what it points to.
void Runner::put_pointer(std::string* out, const FmtStep& step, const Value& value, int width) {
  std::string_view suffix = step.suffix;
  char letter = suffix.empty() ? '\0' : suffix[0];
  std::span<const uint8_t> bytes = pointed_bytes(value);
  size_t start = out->size();
  if ((letter == 'S' || letter == 'F' || letter == 'B' || letter == 's' || letter == 'f') &&
      value.kind == Value::Kind::kNumber) {
    const AddressText::Entry& entry = context_->addresses->of(value.number);
    bool offset = letter == 'S' || letter == 'F' || letter == 'B';
    *out += !offset               ? entry.plain
            : context_->trace_cmd ? entry.offset
            : entry.address       ? entry.full
                                  : entry.plain;
  } else if (value.kind == Value::Kind::kNumber) {
    put_address(out, value, letter);
  } else if ((letter == 'I' || letter == 'i') && suffix.size() > 1 && suffix[1] == 'S') {
    put_socket_address(out, bytes, suffix.substr(2));
  } else if ((letter == 'I' || letter == 'i') && suffix.size() > 1 && suffix[1] == '6') {
    bool is_short = suffix.find('c') != std::string_view::npos;
    is_short ? put_ip6_short(out, bytes) : put_ip6(out, bytes, letter == 'I');
  } else if (letter == 'I' || letter == 'i') {
    put_ip4(out, bytes, letter == 'i');
  } else if (letter == 'M' || letter == 'm') {
    put_mac(out, bytes, suffix);
  } else if (letter == 'U') {
    put_uuid(out, bytes, suffix);
  } else {
    put_buffer(out, bytes, suffix, width);
    return;  // the width was the length
  }
  size_t length = out->size() - start;
  if (width > 0 && size_t(width) > length)
    out->insert(step.left ? out->size() : start, size_t(width) - length, ' ');
}

// The common case without detours.
void Runner::put_short(Pieces* out, const FmtStep& step) const {
  const FieldRef& ref = step.field;
  if (step.how == FmtStep::Short::kText) {
    const std::string_view text = as_text(field_bytes(ref));
    if (!context_->escape || is_plain(text)) return out->put(text);
    out->flush();
    return append_escaped(out->text(), text);
  }
  uint64_t number = 0;
  if (ref.offset + uint64_t(ref.size) <= record_.size()) {
    std::memcpy(&number, record_.data() + ref.offset, ref.size);
    number = extend(number, ref.size, ref.is_signed);
  }
  switch (step.how) {
    case FmtStep::Short::kSigned:
      return out->put_signed(int64_t(extend(number, step.size, true)));
    case FmtStep::Short::kHex:
      return out->put_hex(extend(number, step.size, false));
    default:
      return out->put_unsigned(extend(number, step.size, false));
  }
}

// The word is there and says that there is no text, not even an empty one.
bool Runner::is_fault(const FieldRef& ref) const {
  if (record_.size() < 4 || ref.offset > record_.size() - 4) return false;
  return load<uint32_t>(record_.data() + ref.offset) >> 16 == 0;
}

void Runner::put_step(std::string* out, const FmtStep& step) {
  if (step.kind == FmtStep::Kind::kEnd) return;
  context_->scratch.clear();
  FmtStep with_sign;
  const FmtStep* used = &step;
  int width = step.width, precision = step.precision;
  if (step.width_node) {
    width = int(std::clamp<int64_t>(int64_t(eval(step.width_node - 1).number), -4096, 4096));
    if (width < 0) {
      with_sign = step;
      with_sign.left = true;
      used = &with_sign;
      width = -width;
    }
  }
  if (step.precision_node)
    precision = int(std::clamp<int64_t>(int64_t(eval(step.precision_node - 1).number), -1, 4096));
  context_->scratch.clear();
  Value value = eval(step.node - 1);
  switch (step.kind) {
    case FmtStep::Kind::kString:
      return put_string(out, *used, value, width, precision);
    case FmtStep::Kind::kPointer:
      return put_pointer(out, *used, value, width);
    case FmtStep::Kind::kFloat:
      return put_real(out, *used, value, width, precision);
    case FmtStep::Kind::kChar: {
      char c = char(value.number);
      return put_text(out, std::string_view(&c, 1), *used, width, -1, true);
    }
    default:
      if (value.kind == Value::Kind::kFloat) return put_real(out, *used, value, width, precision);
      return put_integer(out, *used, value.number, width, precision);
  }
}

void Runner::run(std::string* out) {
  Pieces pieces(out);
  bool quoted = true;  // false: the last text was a fault, the quote behind it is left away
  for (const FmtStep& step : program_.steps) {
    const std::string_view text = std::string_view(step.text).substr(quoted ? 0 : 1);
    quoted = !step.may_be_fault || !is_fault(program_.nodes[step.node - 1].ref);
    pieces.put(quoted ? text : text.substr(0, text.size() - 1));  // ends with the quote
    if (!quoted) {
      pieces.put("(fault)");
    } else if (step.how != FmtStep::Short::kNo) {
      put_short(&pieces, step);
    } else if (step.kind != FmtStep::Kind::kEnd) {
      pieces.flush();
      put_step(out, step);
    }
  }
}

// How an unadorned conversion of a plain field is made.
FmtStep::Short short_of(const FmtStep& step, const PrintFormat::Program& program) {
  using Short = FmtStep::Short;
  if (!step.plain || step.node == 0) return Short::kNo;
  const FmtNode& node = program.nodes[step.node - 1];
  if (node.op != FmtOp::kField && node.op != FmtOp::kArray) return Short::kNo;
  const bool is_number = node.ref.kind == FieldRef::Kind::kNumber;
  switch (step.kind) {
    case FmtStep::Kind::kString:
      return is_number || node.ref.kind == FieldRef::Kind::kFloat ? Short::kNo : Short::kText;
    case FmtStep::Kind::kSigned:
      return is_number ? Short::kSigned : Short::kNo;
    case FmtStep::Kind::kUnsigned:
      return is_number ? Short::kUnsigned : Short::kNo;
    case FmtStep::Kind::kHex:
      return is_number ? Short::kHex : Short::kNo;
    default:
      return Short::kNo;
  }
}

}  // namespace

uint64_t constant_of(const PrintFormat::Program& program, uint32_t index) {
  TextContext context;
  return Runner(program, {}, &context).eval(index).number;
}

uint64_t hashed_pointer(uint64_t pointer) {
  static const std::array<uint64_t, 2> key = [] {
    std::array<uint64_t, 2> words = {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f};
    auto random = reinterpret_cast<const uint8_t*>(getauxval(AT_RANDOM));  // 16 bytes per process
    if (random) std::memcpy(words.data(), random, sizeof words);
    return words;
  }();
  uint64_t mixed = pointer ^ key[0];
  for (int round = 0; round < 3; round++) {
    mixed = (mixed ^ (mixed >> 32)) * (key[1] | 1);
    mixed ^= mixed >> 29;
  }
  return uint32_t(mixed >> 16);
}

PrintFormat::PrintFormat(std::unique_ptr<Program> program) : program_(std::move(program)) {}
PrintFormat::~PrintFormat() = default;

std::unique_ptr<PrintFormat> PrintFormat::compile(const EventCall& call) {
  auto program = std::make_unique<Program>();
  if (!parse_print_fmt(call, program.get())) return nullptr;
  for (FmtStep& step : program->steps) {
    step.how = short_of(step, *program);
    if (step.how != FmtStep::Short::kNo) step.field = program->nodes[step.node - 1].ref;
  }
  return std::unique_ptr<PrintFormat>(new PrintFormat(std::move(program)));
}

void PrintFormat::append(std::string* out, std::span<const uint8_t> record,
                         TextContext* context) const {
  Runner(*program_, record, context).run(out);
}

}  // namespace patchbay
