// SPDX-License-Identifier: MIT
//
// The order of checks and the columns of carets are those of the kernel's kernel/trace/
// trace_probe.c (traceprobe_parse_probe_arg and below), with its peculiarities:
//   - a column inside `+OFF(…)` counts from the inner expression, and stays there for what is
//     found afterwards about the type; the `u` of `+u8(` is not counted;
//   - what stands behind the last ')' of a dereference is not looked at;
//   - a chain has 15 places: a dereference takes one, a symbol two, storing at most three.
//
// Ours: C++ names behind '@' (a "::" does not start a type), %xmmN, and of a static event $argN is
// its n-th field; the types float, double and string/N; and what the first patches for kprobe
// events had: a0 … a5, rv and ra. Names of arguments and $arg* need debug information, which the
// tool has: here they are what they are in a kernel without BTF.
#include "event/probe_event_argument.h"

#include <array>
#include <cerrno>

#include "base/text.h"
#include "symbol/symbol.h"

namespace patchbay {

namespace {

constexpr size_t kMaxArgumentName = 32;
constexpr size_t kMaxArgumentText = 63;
constexpr uint64_t kMaxArrayLen = 64;
constexpr uint64_t kMaxEventSize = 3072;
constexpr uint64_t kMaxStackWord = 2048;
constexpr int kMaxOps = 15;
constexpr uint8_t kStackPointer = 4;

constexpr std::string_view kReserved[] = {"common_type",    "common_flags", "common_preempt_count",
                                          "common_pid",     "common_tgid",  "__probe_ip",
                                          "__probe_ret_ip", "__probe_func"};

struct NamedRegister {
  std::string_view name;
  int8_t number;      // -1: `value` always
  int64_t value = 0;  // what a thread in user space has there
};
constexpr std::array<NamedRegister, 21> kRegisters = {{
    {"ax", 0},
    {"cx", 1},
    {"dx", 2},
    {"bx", 3},
    {"sp", 4},
    {"bp", 5},
    {"si", 6},
    {"di", 7},
    {"r8", 8},
    {"r9", 9},
    {"r10", 10},
    {"r11", 11},
    {"r12", 12},
    {"r13", 13},
    {"r14", 14},
    {"r15", 15},
    {"flags", kFlagsRegister},
    {"ip", kIpRegister},
    {"cs", -1, 0x33},
    {"ss", -1, 0x2b},
    {"orig_ax", -1, -1},
}};

std::string did_you_mean(std::string_view wrong, const std::vector<std::string>& names) {
  const std::vector<std::string> near =
      near_matches(wrong, std::vector<std::string_view>(names.begin(), names.end()));
  std::string text;
  for (const std::string& name : near) text += (text.empty() ? "; did you mean " : ", ") + name;
  return text.empty() ? "" : text + "?";
}

std::string unknown_register(std::string_view name) {
  std::vector<std::string> names;
  for (const NamedRegister& known : kRegisters) names.push_back("%" + std::string(known.name));
  for (const NamedRegister& known : kRegisters)
    if (name.size() > 1 && name.substr(1) == known.name)
      return "there is no register %" + std::string(name) + "; did you mean %" +
             std::string(known.name) + "?";
  std::string wrong = "%" + std::string(name);
  return "there is no register " + wrong + did_you_mean(wrong, names);
}

// The last thing of a chain, as far as types care.
enum class Last : uint8_t {
  kNothing,
  kRegister,
  kStackPointer,
  kStack,
  kReturnValue,
  kArgument,
  kEntryArgument,
  kNumber,
  kComm,
  kText,
  kField,
  kLoad,
  kUserLoad,
};
bool is_load(Last last) { return last == Last::kLoad || last == Last::kUserLoad; }

class ArgumentParser {
 public:
  ArgumentParser(const ProbeArgumentContext& context, ProbeArgument* out)
      : context_(context), out_(*out) {}

  bool parse(std::string_view body, size_t offset, uint64_t* size);

 private:
  bool fail(ProbeFault fault, size_t offset, int error = EINVAL, std::string help = "") {
    return context_.faults.fail(fault, offset, error, std::move(help));
  }
  // `at` counts from the expression that is being read.
  bool fail_at(ProbeFault fault, size_t at, int error = EINVAL, std::string help = "") {
    return fail(fault, offset_ + at, error, std::move(help));
  }
  bool fail_here(ProbeFault fault, int error = EINVAL, std::string help = "") {
    return fail_at(fault, 0, error, std::move(help));
  }
  void step(FetchOp op, int index, uint64_t imm) {
    out_.steps.push_back({op, uint8_t(index), 8, 0, 0, imm});
  }
  void start_at(ProbeStart start, std::string_view name, int64_t number) {
    out_.start = start;
    out_.start_name = name;
    out_.start_number = number;
  }

  bool split_type(std::string_view body, std::string_view* fetch);
  bool split_array(size_t type_at);
  const ProbeType* find_type(std::string_view name) const;
  bool parse_fetch(std::string_view text);
  bool parse_variable(std::string_view name);
  bool parse_field(std::string_view name);
  bool parse_return_value(std::string_view rest);
  bool parse_errno();
  bool parse_stack(std::string_view rest);
  bool parse_entry_argument(std::string_view number);
  bool take_entry_argument(uint64_t index);
  bool parse_register(std::string_view name);
  bool parse_memory(std::string_view text);
  bool parse_dereference(std::string_view text);
  bool parse_immediate(std::string_view text);
  bool parse_name(std::string_view name);
  bool parse_return_address();
  bool check_store();
  bool check_string();
  bool parse_bitfield();
  bool fits(int more) const { return ops_ + more < kMaxOps; }

  const ProbeArgumentContext& context_;
  ProbeArgument& out_;
  std::string_view type_;  // as written
  bool has_type_ = false;
  size_t type_offset_ = 0;
  size_t offset_ = 0;  // columns of the word before what is being read, as the kernel counts
  int ops_ = 0;        // place of the last operation in the chain
  Last last_ = Last::kNothing;
};

// --- the type

// A ':' that stands in a C++ name behind '@' is none.
size_t find_type_colon(std::string_view body) {
  const size_t name = body.find('@');
  for (size_t at = body.find(':'); at != body.npos; at = body.find(':', at + 2))
    if (at < name || at + 1 >= body.size() || body[at + 1] != ':') return at;
  return body.npos;
}

// "b4@2/32"; ours, with its sign: "sb4@2/32".
bool is_bitfield(std::string_view type) {
  return type.starts_with('b') || type.starts_with("sb");
}

const ProbeType* ArgumentParser::find_type(std::string_view name) const {
  if (context_.is_uprobe() && (name == "symbol" || name == "symstr")) return nullptr;
  if (text_bound(name)) return find_probe_type("string");
  if (!is_bitfield(name)) return find_probe_type(name);
  uint64_t bits = 0;
  const size_t slash = name.find('/');
  if (slash == name.npos || read_unsigned(name.substr(slash + 1), 0, &bits)) return nullptr;
  return bits == 8 || bits == 16 || bits == 32 || bits == 64
             ? find_probe_type((name[0] == 's' ? "s" : "u") + std::to_string(bits))
             : nullptr;
}

// "u8[4" and what follows; cuts type_ off before the bracket.
bool ArgumentParser::split_array(size_t type_at) {
  const size_t open = type_.find('[');
  if (open == type_.npos) return true;
  const size_t number_at = type_at + open + 1;
  const size_t close = type_.find(']', open + 1);
  if (close == type_.npos) return fail_at(ProbeFault::kArrayNoClose, type_at + type_.size());
  if (close + 1 != type_.size()) return fail_at(ProbeFault::kBadArraySuffix, type_at + close + 1);
  uint64_t count = 0;
  if (read_unsigned(type_.substr(open + 1, close - open - 1), 0, &count) || !count ||
      count > UINT32_MAX)
    return fail_at(ProbeFault::kBadArrayNum, number_at);
  if (count > kMaxArrayLen) return fail_at(ProbeFault::kArrayTooBig, number_at);
  out_.array_len = uint32_t(count);
  type_ = type_.substr(0, open);
  return true;
}

bool ArgumentParser::split_type(std::string_view body, std::string_view* fetch) {
  const size_t colon = find_type_colon(body);
  *fetch = body.substr(0, colon);
  if (colon != body.npos) {
    has_type_ = true;
    type_offset_ = colon + 1;
    type_ = body.substr(type_offset_);
    if (!split_array(type_offset_)) return false;
  }
  const bool is_text = *fetch == "$comm" || *fetch == "$COMM" || fetch->starts_with("\\\"");
  if (is_text && !context_.is_eprobe()) {
    if (out_.array_len || (has_type_ && type_ != "string"))
      return fail_at(ProbeFault::kNeedStringType, type_offset_);
    out_.type = find_probe_type("string");
    return true;
  }
  const bool is_result = *fetch == "$retval" && context_.definition.on_return;
  if (is_result && type_ == long_double_type()->name && !out_.array_len) {
    out_.type = long_double_type();
    return true;
  }
  const bool is_errno = *fetch == "$errno" && !context_.is_eprobe();
  out_.type = find_type(has_type_ ? type_ : is_errno ? "s32" : "x64");
  if (out_.array_len && text_bound(type_)) out_.type = nullptr;
  if (out_.type) return true;
  return fail_at(
      ProbeFault::kBadType, type_offset_, EINVAL,
      "there is no type " + std::string(type_) + did_you_mean(type_, probe_type_names()));
}

// --- variables

bool ArgumentParser::parse_field(std::string_view name) {
  if (context_.source)
    for (const EventField& field : context_.source->fields) {
      if (field.name != name) continue;
      start_at(ProbeStart::kField, name, 0);
      step(FetchOp::kImm, 0, 0);
      last_ = Last::kField;
      return true;
    }
  if (name == "comm" || name == "COMM") {
    start_at(ProbeStart::kComm, "", 0);
    last_ = Last::kComm;
    return true;
  }
  std::vector<std::string> names;
  if (context_.source)
    for (const EventField& field : context_.source->fields) names.push_back(field.name);
  return fail_here(ProbeFault::kBadVar, EINVAL,
                   "the event has no field " + std::string(name) + did_you_mean(name, names));
}

bool ArgumentParser::parse_return_value(std::string_view rest) {
  const ProbeDefinition& definition = context_.definition;
  const bool by_address = definition.kind == ProbeKind::kKprobe && definition.symbol.empty();
  if (!definition.on_return || by_address) return fail_here(ProbeFault::kRetvalOnProbe);
  if (rest.starts_with("->") || rest.starts_with('.'))
    return fail_here(ProbeFault::kNosupBtfarg, EOPNOTSUPP);
  if (!rest.empty()) return fail_here(ProbeFault::kNoBtfarg, ENOENT);
  step(FetchOp::kReg, 0, 0);
  out_.uses_registers = true;
  last_ = Last::kReturnValue;
  return true;
}

// Ours: the kernel has no errno. A number of 32 bits with its sign, as a register would hold it.
bool ArgumentParser::parse_errno() {
  start_at(ProbeStart::kErrno, "", 0);
  step(FetchOp::kImm, 0, 0);
  out_.steps.push_back({FetchOp::kPeek, 0, sizeof(int), 0, 0, 0});
  out_.steps.push_back({FetchOp::kExtend, 1, sizeof(int), 0, 0, 0});
  last_ = Last::kRegister;
  return true;
}

bool ArgumentParser::parse_stack(std::string_view rest) {
  step(FetchOp::kReg, kStackPointer, 0);
  out_.uses_registers = true;
  last_ = Last::kStackPointer;
  if (rest.empty()) return true;
  uint64_t word = 0;
  if (!is_digit(rest[0]) || read_unsigned(rest, 10, &word)) return fail_here(ProbeFault::kBadVar);
  if (!context_.is_uprobe() && word > kMaxStackWord) return fail_here(ProbeFault::kBadStackNum);
  if (word) step(FetchOp::kAdd, 0, uint32_t(word) * uint64_t{8});
  step(FetchOp::kDeref, 0, 0);
  last_ = Last::kStack;
  return true;
}

// The seventh argument and what follows lies above the return address, while the function has just
// begun.
bool ArgumentParser::take_entry_argument(uint64_t index) {
  const bool at_return = context_.definition.on_return;
  last_ = at_return ? Last::kEntryArgument : Last::kArgument;
  if (index < 6) {
    out_.uses_entry_arg = true;
    step(FetchOp::kArg, int(index), 0);
    return true;
  }
  if (at_return)
    return fail_here(ProbeFault::kBadArgNum, EINVAL,
                     "at a return only the six arguments in registers are known");
  out_.uses_registers = true;
  step(FetchOp::kReg, kStackPointer, 0);
  step(FetchOp::kAdd, 0, (index - 5) * 8);
  step(FetchOp::kDeref, 0, 0);
  return true;
}

bool ArgumentParser::parse_entry_argument(std::string_view number) {
  uint64_t n = 0;
  if (read_unsigned(number, 10, &n)) return fail_here(ProbeFault::kBadVar);
  if (!n || n > kMaxStackWord) return fail_here(ProbeFault::kBadArgNum);
  if (!context_.is_function_entry() && !context_.is_function_return())
    return fail_here(ProbeFault::kNofentryArgs);
  if (context_.definition.kind != ProbeKind::kTracepoint) return take_entry_argument(n - 1);
  if (context_.source && n > context_.source->fields.size())
    return fail_here(ProbeFault::kNoBtfarg, ENOENT, "the event has fewer fields");
  start_at(ProbeStart::kFieldIndex, "", int64_t(n - 1));
  step(FetchOp::kImm, 0, 0);
  last_ = Last::kArgument;
  return true;
}

bool ArgumentParser::parse_variable(std::string_view name) {
  if (context_.is_eprobe()) return parse_field(name);
  if (name.starts_with("retval")) return parse_return_value(name.substr(6));
  if (name.starts_with("stack")) return parse_stack(name.substr(5));
  if (name == "comm" || name == "COMM") return parse_field(name);
  if (name == "errno") return parse_errno();
  if (name.starts_with("arg")) return parse_entry_argument(name.substr(3));
  return fail_here(ProbeFault::kBadVar, EINVAL,
                   "there is no $" + std::string(name) +
                       did_you_mean(name, {"retval", "stack", "comm", "errno", "arg1"}));
}

// --- registers, memory, numbers

bool ArgumentParser::parse_register(std::string_view name) {
  const ProbeKind kind = context_.definition.kind;
  if (context_.is_eprobe() || kind == ProbeKind::kFprobe || kind == ProbeKind::kTracepoint) {
    fail_here(ProbeFault::kBadVar, EINVAL, "registers are there in p and r lines only");
    return fail_here(ProbeFault::kBadFetchArg);
  }
  last_ = Last::kRegister;
  for (const NamedRegister& known : kRegisters) {
    if (known.name != name) continue;
    out_.uses_registers = known.number >= 0;
    if (known.number >= 0)
      step(FetchOp::kReg, known.number, 0);
    else
      step(FetchOp::kImm, 0, uint64_t(known.value));
    return true;
  }
  uint64_t number = 0;
  if (name.starts_with("xmm") && name.size() > 3 && is_digit(name[3]) &&
      !read_unsigned(name.substr(3), 10, &number) && number < 16) {
    step(FetchOp::kXmm, int(number), 0);
    return true;
  }
  return fail_here(ProbeFault::kBadRegName, EINVAL, unknown_register(name));
}

bool ArgumentParser::parse_memory(std::string_view text) {
  uint64_t address = 0;
  out_.ends_in_address = true;
  last_ = Last::kLoad;
  ops_ = 1;
  if (!text.empty() && is_digit(text[0])) {
    if (int error = read_unsigned(text, 0, &address))
      return fail_here(ProbeFault::kBadMemAddr, error);
  } else if (text.starts_with('+')) {
    if (!context_.is_uprobe()) return fail_here(ProbeFault::kFileOnKprobe);
    int64_t file_offset = 0;
    if (int error = read_signed(text.substr(1), 0, &file_offset))
      return fail_here(ProbeFault::kBadFileOffs, error);
    start_at(ProbeStart::kFileOffset, "", file_offset);
    address = context_.world.data_at(context_.definition.symbol, uint64_t(file_offset));
  } else {
    if (context_.is_uprobe()) return fail_here(ProbeFault::kSymOnUprobe);
    std::string_view symbol = text;
    int64_t offset = 0;
    ops_ = 2;
    // An unknown symbol, or a wrong number behind it, is a fault of the whole probe.
    if (!split_symbol_offset(&symbol, &offset)) address = context_.world.address_of(symbol);
    start_at(ProbeStart::kSymbol, text, 0);
    if (address) address += uint64_t(offset);
  }
  step(FetchOp::kImm, 0, address);
  return true;
}

bool ArgumentParser::parse_dereference(std::string_view text) {
  const bool is_user = text.size() > 1 && text[1] == 'u';
  std::string number(text.substr(0, 1));
  number += text.substr(is_user ? 2 : 1);
  if (number[0] == '+') number.erase(0, 1);
  const size_t open = number.find('(');
  if (open == number.npos) return fail_here(ProbeFault::kDerefNeedBrace);
  int64_t distance = 0;
  if (int error = read_signed(std::string_view(number).substr(0, open), 0, &distance))
    return fail_here(ProbeFault::kBadDerefOffs, error);
  offset_ += open + 1 + (number[0] != '-' ? 1 : 0);
  std::string_view inner = text.substr(text.find('(') + 1);
  const size_t close = inner.rfind(')');
  if (close == inner.npos) return fail_at(ProbeFault::kDerefOpenBrace, inner.size());
  const size_t inner_offset = offset_;
  if (!parse_fetch(inner.substr(0, close))) return false;
  offset_ = inner_offset;
  if (last_ == Last::kComm || last_ == Last::kText) return fail_here(ProbeFault::kCommCantDeref);
  if (!fits(1)) return fail_here(ProbeFault::kTooManyOps);
  ops_++;
  if (out_.ends_in_address) step(FetchOp::kDeref, 0, 0);
  if (distance) step(FetchOp::kAdd, 0, uint64_t(distance));
  out_.ends_in_address = true;
  last_ = is_user ? Last::kUserLoad : Last::kLoad;
  return true;
}

bool ArgumentParser::parse_immediate(std::string_view text) {
  if (text.starts_with('"')) {
    text.remove_prefix(1);
    if (!text.ends_with('"')) return fail_at(ProbeFault::kImmstrNoClose, 2 + text.size());
    start_at(ProbeStart::kText, text.substr(0, text.size() - 1), 0);
    last_ = Last::kText;
    return true;
  }
  uint64_t value = 0;
  int64_t number = 0;
  int error = EINVAL;
  if (!text.empty() && is_digit(text[0])) {
    error = read_unsigned(text, 0, &value);
  } else if (text.starts_with('-') || text.starts_with('+')) {
    error = read_signed(text.substr(text[0] == '+'), 0, &number);
    value = uint64_t(number);
  }
  if (error) return fail_at(ProbeFault::kBadImm, 1, error);
  step(FetchOp::kImm, 0, value);
  last_ = Last::kNumber;
  return true;
}

// On the stack where a function has just begun; behind the return it is where the thread is.
bool ArgumentParser::parse_return_address() {
  out_.uses_registers = true;
  if (context_.is_function_return()) {
    step(FetchOp::kReg, kIpRegister, 0);
    last_ = Last::kRegister;
    return true;
  }
  step(FetchOp::kReg, kStackPointer, 0);
  step(FetchOp::kDeref, 0, 0);
  last_ = Last::kStack;
  return true;
}

// a0 is $arg1, rv is $retval, ra is where the function returns to.
bool ArgumentParser::parse_name(std::string_view name) {
  const bool at_function = context_.is_function_entry() || context_.is_function_return();
  const bool has_registers = context_.definition.kind == ProbeKind::kKprobe;
  if (at_function && name.size() == 2 && name[0] == 'a' && name[1] >= '0' && name[1] <= '5' &&
      context_.definition.kind != ProbeKind::kTracepoint)
    return take_entry_argument(uint64_t(name[1] - '0'));
  if (name == "rv" && context_.is_function_return()) return parse_return_value("");
  if (name == "ra" && at_function && has_registers) return parse_return_address();
  std::string help =
      "names need the program's debug information, which `patchbay probe` reads; here "
      "arguments are $argN:TYPE";
  if (context_.is_uprobe()) help = "a place in a file has registers and memory, and no names";
  if (context_.is_eprobe()) help = "a field is $" + std::string(name);
  return fail_here(ProbeFault::kNosupBtfarg, at_function ? EOPNOTSUPP : EINVAL, std::move(help));
}

[[gnu::cold]] bool ArgumentParser::parse_fetch(std::string_view text) {
  switch (text.empty() ? '\0' : text[0]) {
    case '$':
      return parse_variable(text.substr(1));
    case '%':
      return parse_register(text.substr(1));
    case '@':
      return parse_memory(text.substr(1));
    case '+':
    case '-':
      return parse_dereference(text);
    case '\\':
      return parse_immediate(text.substr(1));
    default:
      break;
  }
  if (!text.empty() && is_name_start(text[0])) return parse_name(text);
  return fail_here(ProbeFault::kBadFetchArg);
}

// --- does the type fit what was fetched?

bool ArgumentParser::check_string() {
  if (out_.type->name == "symstr") {
    const bool fits_names = last_ == Last::kRegister || last_ == Last::kStack ||
                            last_ == Last::kReturnValue || last_ == Last::kArgument ||
                            last_ == Last::kLoad || last_ == Last::kField;
    if (!fits_names) return fail_at(ProbeFault::kBadSymstring, type_offset_);
  } else {
    const bool fits_text = is_load(last_) || last_ == Last::kNumber || last_ == Last::kComm ||
                           last_ == Last::kText || last_ == Last::kField;
    if (!fits_text) return fail_at(ProbeFault::kBadString, type_offset_);
  }
  const bool takes_place = out_.type->name == "symstr" || out_.array_len || !is_load(last_);
  if (!takes_place) return true;
  if (!fits(1)) return fail_here(ProbeFault::kTooManyOps);
  ops_++;
  return true;
}

bool ArgumentParser::parse_bitfield() {
  out_.bit_is_signed = type_.starts_with('s');
  std::string_view text = type_.substr(out_.bit_is_signed ? 2 : 1);
  uint64_t width = 0, first = 0;
  const uint64_t bits = uint64_t{out_.type->size} * 8;
  take_unsigned(&text, &width);
  const bool starts = width && text.starts_with('@');
  if (starts) text.remove_prefix(1);
  const bool good = starts && take_unsigned(&text, &first) && text.starts_with('/');
  if (!good || !fits(1) || width > bits || first > bits - width)
    return fail_at(ProbeFault::kBadBitfield, type_offset_);
  ops_++;
  out_.bit_width = uint8_t(width);
  out_.bit_offset = uint8_t(first);
  return true;
}

bool ArgumentParser::check_store() {
  const bool is_text = out_.type->field_type.starts_with("__data_loc");
  if (is_text) {
    if (!check_string()) return false;
  } else if (!is_load(last_)) {
    if (!fits(1)) return fail_here(ProbeFault::kTooManyOps, E2BIG);
    ops_++;
  }
  if (is_bitfield(type_) && !parse_bitfield()) return false;
  if (!out_.array_len) return true;
  const bool may_repeat = is_text ? out_.type->name != "symstr" : last_ == Last::kLoad;
  if (!may_repeat) return fail_at(ProbeFault::kBadString, type_offset_);
  if (!fits(1)) return fail_here(ProbeFault::kTooManyOps, E2BIG);
  return true;
}

bool ArgumentParser::parse(std::string_view body, size_t offset, uint64_t* size) {
  offset_ = offset;
  if (body.size() > kMaxArgumentText) return fail_here(ProbeFault::kArgTooLong, E2BIG);
  if (body.empty()) return fail_here(ProbeFault::kNoArgBody);
  std::string_view fetch;
  if (!split_type(body, &fetch) || !parse_fetch(fetch)) return false;
  *size += uint64_t{out_.type->size} * (out_.array_len ? out_.array_len : 1);
  if (*size > kMaxEventSize) return fail_here(ProbeFault::kEventTooBig, E2BIG);
  if (!check_store()) return false;
  if (context_.definition.kind == ProbeKind::kTracepoint && out_.uses_registers)
    return fail(ProbeFault::kBadVar, offset, EINVAL,
                "a static event hands over its fields, and no stack");
  return true;
}

bool is_used_name(std::string_view name, const std::vector<ProbeArgument>& done) {
  for (std::string_view reserved : kReserved)
    if (name == reserved) return true;
  for (const ProbeArgument& argument : done)
    if (argument.name == name) return true;
  return false;
}

}  // namespace

bool ProbeArgumentContext::is_function_entry() const {
  if (definition.kind == ProbeKind::kFprobe || definition.kind == ProbeKind::kTracepoint)
    return !definition.on_return;
  return definition.kind == ProbeKind::kKprobe && !definition.on_return &&
         !definition.symbol.empty() && definition.offset == 0;
}

bool ProbeArgumentContext::is_function_return() const {
  if (definition.kind == ProbeKind::kFprobe) return definition.on_return;
  return definition.kind == ProbeKind::kKprobe && definition.on_return &&
         !definition.symbol.empty();
}

std::optional<uint32_t> text_bound(std::string_view type) {
  constexpr std::string_view kBounded = "string/";
  uint64_t bytes = 0;
  const size_t at = type.rfind(kBounded);
  if (at == type.npos || (at && type[at - 1] != ':')) return std::nullopt;
  const std::string_view number = type.substr(at + kBounded.size());
  if (number.empty() || !is_digit(number[0]) || read_unsigned(number, 10, &bytes) || !bytes ||
      bytes > UINT16_MAX)
    return std::nullopt;
  return uint32_t(bytes);
}

int split_symbol_offset(std::string_view* symbol, int64_t* offset) {
  *offset = 0;
  const size_t at = symbol->find_first_of("+-");
  if (at == symbol->npos) return 0;
  if (int error = read_signed(symbol->substr(at), 0, offset)) return error;
  *symbol = symbol->substr(0, at);
  return 0;
}

[[gnu::cold]] bool parse_probe_argument(std::string_view word, const ProbeArgumentContext& context,
                                        std::vector<ProbeArgument>* done, uint64_t* size) {
  ProbeArgument argument;
  const size_t equals = word.find('=');
  if (equals == word.npos)
    argument.name = "arg" + std::to_string(done->size() + 1);
  else if (equals > kMaxArgumentName)
    return context.faults.fail(ProbeFault::kArgNameTooLong, 0, EINVAL);
  else if (equals == 0)
    return context.faults.fail(ProbeFault::kNoArgName, 0, EINVAL);
  else
    argument.name = word.substr(0, equals);
  if (!is_good_name(argument.name)) return context.faults.fail(ProbeFault::kBadArgName, 0, EINVAL);
  if (is_used_name(argument.name, *done))
    return context.faults.fail(ProbeFault::kUsedArgName, 0, EINVAL);
  const size_t body = equals == word.npos ? 0 : equals + 1;
  if (!ArgumentParser(context, &argument).parse(word.substr(body), body, size)) return false;
  argument.text = argument.name + "=" + std::string(word.substr(body));
  done->push_back(std::move(argument));
  return true;
}

bool check_meta_arguments(const std::vector<std::string_view>& words, size_t first,
                          const ProbeArgumentContext& context) {
  bool has_all = false;
  size_t last = first;
  for (size_t i = first; i < words.size(); i++) {
    if (!words[i].starts_with("$arg")) continue;
    last = i;
    context.faults.set_word(i);
    if (!context.is_function_entry() && !context.is_function_return())
      return context.faults.fail(ProbeFault::kNofentryArgs, 0, EINVAL);
    const char kind = words[i].size() > 4 ? words[i][4] : '\0';
    if (is_digit(kind)) continue;
    if (kind != '*') return context.faults.fail(ProbeFault::kBadVar, 0, EINVAL);
    if (has_all) return context.faults.fail(ProbeFault::kDoubleArgs, 0, EINVAL);
    has_all = true;
  }
  if (!has_all) return true;
  context.faults.set_word(last);
  return context.faults.fail(
      ProbeFault::kNosupBtfarg, 0, EOPNOTSUPP,
      "`patchbay probe 'FUNC $params'` reads the program's debug information; "
      "here arguments are $argN:TYPE");
}

}  // namespace patchbay
