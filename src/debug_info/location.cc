// SPDX-License-Identifier: MIT
#include "debug_info/location.h"

#include <dwarf.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "debug_info/probe_type.h"

namespace patchbay {
namespace {

// Modulo 2^64, as the processor adds: the numbers are a file's.
int64_t wrapped_sum(int64_t a, uint64_t b) { return int64_t(uint64_t(a) + b); }

constexpr size_t kMaxOperations = 1000;
constexpr size_t kMaxStack = 64;
constexpr size_t kMaxLoads = 14;  // what a probe's definition may nest
constexpr size_t kMaxPieces = 256;
constexpr int kMaxNesting = 8;  // of expressions: frame base, entry value, implicit pointer

constexpr const char* kRegisterNames[] = {"ax",  "dx",  "cx",  "bx",  "si",  "di",
                                          "bp",  "sp",  "r8",  "r9",  "r10", "r11",
                                          "r12", "r13", "r14", "r15", "ip"};
constexpr uint64_t kNrNamed = 17, kFirstVector = 17, kNrVectors = 16;
constexpr const char kComputed[] = "computed here, so that it is in no register and not in memory";

LoadChain constant(uint64_t number) { return {LoadChain::Start::kConstant, number, {}, 0, 64}; }

// Runs one expression. An operation that the chain cannot express ends it with a reason.
class Evaluator {
 public:
  Evaluator(DebugInfo& info, const ProbePoint& point, Dwarf_Attribute* attribute, int nesting)
      : info_(info), point_(point), attribute_(attribute), nesting_(nesting) {}
  Where run(const Dwarf_Op* ops, size_t count);

 private:
  bool step(const Dwarf_Op& op);
  bool step_constant(const Dwarf_Op& op);
  bool step_register(const Dwarf_Op& op);
  bool step_stack(const Dwarf_Op& op);
  bool step_arithmetic(const Dwarf_Op& op);
  bool step_special(const Dwarf_Op& op);
  bool fold(const Dwarf_Op& op, LoadChain left, LoadChain right);
  bool push_register(uint64_t number, int64_t offset);
  bool location_in_register(uint64_t number);
  bool push_frame_base(int64_t offset);
  bool push_frame_address();
  bool entry_value(const Dwarf_Op& op);
  bool convert(const Dwarf_Op& op);
  bool implicit_value(const Dwarf_Op& op);
  bool implicit_pointer(const Dwarf_Op& op);
  bool piece(uint64_t bytes);
  bool skip_piece(const Dwarf_Op* ops, size_t count, size_t* i);
  bool refuse(std::string why) { return why_ = std::move(why), false; }
  bool push(LoadChain chain);
  bool pop(LoadChain* chain);
  bool load();
  Where finish();

  DebugInfo& info_;
  const ProbePoint& point_;
  Dwarf_Attribute* attribute_;
  int nesting_;
  std::vector<LoadChain> stack_;
  std::optional<Where> result_;  // a location that is no address: register, implicit value
  bool is_value_ = false;        // DW_OP_stack_value
  std::vector<Where::Piece> pieces_;
  std::string why_;
};

bool Evaluator::push(LoadChain chain) {
  if (stack_.size() >= kMaxStack) return refuse("described by an expression that is too long");
  stack_.push_back(std::move(chain));
  return true;
}

bool Evaluator::pop(LoadChain* chain) {
  if (stack_.empty()) return refuse("described by a damaged expression");
  *chain = std::move(stack_.back());
  stack_.pop_back();
  return true;
}

bool Evaluator::push_register(uint64_t number, int64_t offset) {
  if (point_.at_return) return refuse("not known when the function has returned");
  if (number >= kNrNamed) return refuse("in a register that probes cannot read");
  return push({LoadChain::Start::kRegister, number, {}, offset, 64});
}

bool Evaluator::location_in_register(uint64_t number) {
  if (point_.at_return) return refuse("not known when the function has returned");
  bool is_vector = number >= kFirstVector && number < kFirstVector + kNrVectors;
  if (!is_vector && number >= kNrNamed) return refuse("in a register that probes cannot read");
  LoadChain chain;
  chain.start = is_vector ? LoadChain::Start::kVector : LoadChain::Start::kRegister;
  chain.number = is_vector ? number - kFirstVector : number;
  result_ = Where::value(chain);
  return true;
}

bool Evaluator::push_frame_address() {
  if (nesting_ >= kMaxNesting) return refuse("described by expressions that are nested too deep");
  auto [ops, count] = info_.frame_address(point_.pc);
  if (!ops) return refuse("in a frame whose address is not known (no call frame information)");
  Evaluator inner(info_, point_, nullptr, nesting_ + 1);
  Where frame = inner.run(ops, count);
  if ((frame.kind != Where::Kind::kMemory && frame.kind != Where::Kind::kValue) || frame.first_bit)
    return refuse(frame.why);
  return push(frame.chain);
}

bool Evaluator::push_frame_base(int64_t offset) {
  if (nesting_ >= kMaxNesting) return refuse("described by expressions that are nested too deep");
  std::optional<Dwarf_Attribute> base = attribute_of(point_.concrete, DW_AT_frame_base);
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  if (!base || ::dwarf_getlocation_addr(&*base, point_.pc, &ops, &count, 1) < 1)
    return refuse("in a frame whose address is not known at this place");
  Evaluator inner(info_, point_, &*base, nesting_ + 1);
  Where frame = inner.run(ops, count);
  if ((frame.kind != Where::Kind::kMemory && frame.kind != Where::Kind::kValue) || frame.first_bit)
    return refuse(frame.why);
  frame.chain.add = wrapped_sum(frame.chain.add, uint64_t(offset));
  return push(frame.chain);
}

bool Evaluator::load() {
  LoadChain chain;
  if (!pop(&chain)) return false;
  if (chain.width < 64 || chain.shift != 0) return refuse(kComputed);
  if (chain.loads.size() >= kMaxLoads) return refuse("behind too many pointers");
  chain.loads.push_back(chain.add);
  chain.add = 0;
  return push(std::move(chain));
}

// The value that a register had when the function was entered. It is known there, and at the return
// by the number of the argument.
bool Evaluator::entry_value(const Dwarf_Op& op) {
  Dwarf_Attribute inner;
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  if (!attribute_ || ::dwarf_getlocation_attr(attribute_, &op, &inner) != 0 ||
      ::dwarf_getlocation(&inner, &ops, &count) != 0 || count != 1)
    return refuse("described by a value at the function's entry, which is not kept");
  uint64_t number = ops[0].atom == DW_OP_regx ? ops[0].number
                    : ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31
                        ? ops[0].atom - DW_OP_reg0
                        : UINT64_MAX;
  for (uint64_t i = 0; point_.at_return && i < 6; i++) {
    if (kArgumentRegisters[i] == number)
      return push({LoadChain::Start::kArgument, i + 1, {}, 0, 64});
  }
  if (!point_.at_entry || number >= kNrNamed)
    return refuse("only known at the function's entry, not here");
  return push_register(number, 0);
}

bool Evaluator::convert(const Dwarf_Op& op) {
  if (stack_.empty()) return refuse("described by a damaged expression");
  if (op.number == 0) return true;  // to the generic type: 64 bits
  Dwarf_Die type;
  if (!attribute_ || ::dwarf_getlocation_die(attribute_, &op, &type) != 0) return refuse(kComputed);
  std::optional<uint64_t> size = number_of(type, DW_AT_byte_size);
  if (!size || number_of(type, DW_AT_encoding) == DW_ATE_float) return refuse(kComputed);
  LoadChain& top = stack_.back();
  if (*size < 8) top.width = std::min(top.width, top.shift + unsigned(*size) * 8);
  return true;
}

bool Evaluator::implicit_value(const Dwarf_Op& op) {
  Dwarf_Block block{};
  if (!attribute_ || ::dwarf_getlocation_implicit_value(attribute_, &op, &block) != 0)
    return refuse("described by a damaged expression");
  result_ = Where();
  result_->kind = Where::Kind::kBytes;
  result_->bytes.assign(reinterpret_cast<const char*>(block.data), block.length);
  return true;
}

bool Evaluator::implicit_pointer(const Dwarf_Op& op) {
  Dwarf_Die target;
  if (!attribute_ || ::dwarf_getlocation_die(attribute_, &op, &target) != 0)
    return refuse(kOptimizedOut);
  result_ = Where();
  result_->kind = Where::Kind::kPointerTo;
  result_->target = target;
  result_->target_offset = int64_t(op.number2);
  result_->why = "a pointer that was optimized away; what it points to can be named through it";
  return true;
}

bool Evaluator::piece(uint64_t bytes) {
  bool is_empty = stack_.empty() && !result_;
  pieces_.push_back({is_empty ? Where::nowhere(kOptimizedOut) : finish(), bytes});
  stack_.clear();
  result_.reset();
  is_value_ = false;
  return pieces_.size() < kMaxPieces;
}

bool Evaluator::step_constant(const Dwarf_Op& op) {
  if (op.atom >= DW_OP_lit0 && op.atom <= DW_OP_lit31) return push(constant(op.atom - DW_OP_lit0));
  return push(constant(op.number));
}

bool Evaluator::step_register(const Dwarf_Op& op) {
  if (op.atom >= DW_OP_reg0 && op.atom <= DW_OP_reg31)
    return location_in_register(op.atom - DW_OP_reg0);
  if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31)
    return push_register(op.atom - DW_OP_breg0, int64_t(op.number));
  if (op.atom == DW_OP_regx) return location_in_register(op.number);
  return push_register(op.number, int64_t(op.number2));
}

bool Evaluator::step_stack(const Dwarf_Op& op) {
  size_t depth = op.atom == DW_OP_over ? 1 : op.atom == DW_OP_pick ? op.number : 0;
  if (op.atom == DW_OP_drop || op.atom == DW_OP_dup || op.atom == DW_OP_over ||
      op.atom == DW_OP_pick) {
    if (depth >= stack_.size()) return refuse("described by a damaged expression");
    if (op.atom != DW_OP_drop) return push(stack_[stack_.size() - 1 - depth]);
    stack_.pop_back();
    return true;
  }
  size_t moved = op.atom == DW_OP_swap ? 2 : 3;
  if (stack_.size() < moved) return refuse("described by a damaged expression");
  LoadChain top = std::move(stack_.back());
  stack_.pop_back();
  stack_.insert(stack_.end() - ptrdiff_t(moved - 1), std::move(top));
  return true;
}

// The operands are both known, or one is a constant to be added or a mask of low bits.
bool Evaluator::fold(const Dwarf_Op& op, LoadChain left, LoadChain right) {
  if (op.atom == DW_OP_plus && left.is_constant()) std::swap(left, right);
  uint64_t number = right.constant();
  bool is_sum = op.atom == DW_OP_plus || op.atom == DW_OP_minus;
  if (is_sum && right.is_constant() && left.width == 64 && left.shift == 0) {
    left.add = wrapped_sum(left.add, op.atom == DW_OP_plus ? number : -number);
    return push(left);
  }
  if (op.atom == DW_OP_and && left.is_constant()) std::swap(left, right);
  number = right.constant();
  bool is_mask = right.is_constant() && number != 0 && (number & (number + 1)) == 0;
  if (op.atom == DW_OP_and && is_mask && !left.is_constant()) {
    left.width = std::min(left.width, left.shift + unsigned(__builtin_popcountll(number)));
    return push(left);
  }
  // Parts of a register: what is behind them is cut off by the type.
  const bool is_shift = op.atom == DW_OP_shr || op.atom == DW_OP_shra;
  if (is_shift && right.is_constant() && !left.is_constant() && left.add == 0 && left.width == 64 &&
      number < 64 - left.shift) {
    left.shift += unsigned(number);
    return push(left);
  }
  if (!left.is_constant() || !right.is_constant()) return refuse(kComputed);
  uint64_t a = left.constant(), b = number;
  switch (op.atom) {
    case DW_OP_and:
      return push(constant(a & b));
    case DW_OP_or:
      return push(constant(a | b));
    case DW_OP_xor:
      return push(constant(a ^ b));
    case DW_OP_mul:
      return push(constant(a * b));
    case DW_OP_shl:
      return push(constant(b < 64 ? a << b : 0));
    case DW_OP_shr:
      return push(constant(b < 64 ? a >> b : 0));
    case DW_OP_shra:
      return push(constant(uint64_t(int64_t(a) >> std::min<uint64_t>(b, 63))));
    default:
      return refuse(kComputed);
  }
}

bool Evaluator::step_arithmetic(const Dwarf_Op& op) {
  LoadChain left, right;
  if (op.atom == DW_OP_plus_uconst) {
    if (!pop(&left)) return false;
    return fold({.atom = DW_OP_plus, .number = 0, .number2 = 0, .offset = 0}, left,
                constant(op.number));
  }
  if (!pop(&right) || !pop(&left)) return false;
  return fold(op, std::move(left), std::move(right));
}

bool Evaluator::step_special(const Dwarf_Op& op) {
  Dwarf_Attribute address;
  Dwarf_Addr number = 0;
  switch (op.atom) {
    case DW_OP_addr:
      return push({LoadChain::Start::kAddress, op.number, {}, 0, 64});
    case DW_OP_addrx:
    case DW_OP_GNU_addr_index:
      if (!attribute_ || ::dwarf_getlocation_attr(attribute_, &op, &address) != 0 ||
          ::dwarf_formaddr(&address, &number) != 0)
        return refuse("described by a damaged expression");
      return push({LoadChain::Start::kAddress, number, {}, 0, 64});
    case DW_OP_fbreg:
      return push_frame_base(int64_t(op.number));
    case DW_OP_call_frame_cfa:
      return push_frame_address();
    case DW_OP_deref:
      return load();
    case DW_OP_deref_size:
      return op.number == 8 ? load() : refuse(kComputed);
    case DW_OP_stack_value:
      return is_value_ = true;
    case DW_OP_entry_value:
    case DW_OP_GNU_entry_value:
      return entry_value(op);
    case DW_OP_convert:
    case DW_OP_GNU_convert:
    case DW_OP_reinterpret:
    case DW_OP_GNU_reinterpret:
      return convert(op);
    case DW_OP_piece:
      return piece(op.number);
    case DW_OP_implicit_value:
      return implicit_value(op);
    case DW_OP_implicit_pointer:
    case DW_OP_GNU_implicit_pointer:
      return implicit_pointer(op);
    case DW_OP_form_tls_address:
    case DW_OP_GNU_push_tls_address:
      return refuse("thread-local, which probes cannot follow");
    default:
      return refuse(kComputed);
  }
}

bool Evaluator::step(const Dwarf_Op& op) {
  unsigned atom = op.atom;
  if (atom == DW_OP_nop || atom == DW_OP_GNU_uninit) return true;
  if ((atom >= DW_OP_lit0 && atom <= DW_OP_lit31) ||
      (atom >= DW_OP_const1u && atom <= DW_OP_consts))
    return step_constant(op);
  if ((atom >= DW_OP_reg0 && atom <= DW_OP_breg31) || atom == DW_OP_regx || atom == DW_OP_bregx)
    return step_register(op);
  if (atom >= DW_OP_dup && atom <= DW_OP_rot) return step_stack(op);
  if ((atom >= DW_OP_and && atom <= DW_OP_xor && atom != DW_OP_not && atom != DW_OP_neg &&
       atom != DW_OP_abs))
    return step_arithmetic(op);
  return step_special(op);
}

Where Evaluator::finish() {
  if (!why_.empty()) return Where::nowhere(why_);
  if (result_) return *result_;
  if (stack_.empty()) return Where::nowhere(kOptimizedOut);
  LoadChain chain = stack_.back();
  const unsigned first_bit = std::exchange(chain.shift, 0);
  if (!is_value_) return first_bit ? Where::nowhere(kComputed) : Where::memory(std::move(chain));
  Where where = Where::value(std::move(chain));
  where.first_bit = first_bit;
  return where;
}

// Behind an operation that is not known: where this piece ends, which is nowhere. False: it is no
// piece.
bool Evaluator::skip_piece(const Dwarf_Op* ops, size_t count, size_t* i) {
  for (size_t end = *i; end < count; end++) {
    if (ops[end].atom == DW_OP_bit_piece) return false;
    if (ops[end].atom != DW_OP_piece) continue;
    const std::string why = std::exchange(why_, "");
    pieces_.push_back({Where::nowhere(why.empty() ? kComputed : why), ops[end].number});
    stack_.clear();
    result_.reset();
    is_value_ = false;
    *i = end;
    return pieces_.size() < kMaxPieces;
  }
  return false;
}

Where Evaluator::run(const Dwarf_Op* ops, size_t count) {
  for (size_t i = 0; i < count && i < kMaxOperations; i++) {
    if (!step(ops[i]) && !skip_piece(ops, count, &i))
      return Where::nowhere(why_.empty() ? "described by a damaged expression" : why_);
  }
  if (pieces_.empty()) return finish();
  Where where;
  where.kind = Where::Kind::kPieces;
  where.pieces = std::move(pieces_);
  return where;
}

Where read_nested(DebugInfo& info, const ProbePoint& point, Dwarf_Attribute attribute,
                  int nesting) {
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  int found = ::dwarf_getlocation_addr(&attribute, point.pc, &ops, &count, 1);
  if (found < 0)
    return Where::nowhere(std::string("not readable from the debug information: ") +
                          ::dwarf_errmsg(-1));
  if (found == 0 || count == 0) return Where::nowhere(kOptimizedOut);
  return Evaluator(info, point, &attribute, nesting).run(ops, count);
}

// A form of few bytes is as long as the number needs: the type says how it goes on.
Where constant_value(Dwarf_Attribute attribute, bool is_signed) {
  Where where;
  Dwarf_Block block{};
  Dwarf_Sword number = 0;
  unsigned form = ::dwarf_whatform(&attribute);
  if (const char* text = form == DW_FORM_string || form == DW_FORM_strp
                             ? ::dwarf_formstring(&attribute)
                             : nullptr) {
    where.bytes = text;
  } else if (::dwarf_formblock(&attribute, &block) == 0) {
    where.bytes.assign(reinterpret_cast<const char*>(block.data), block.length);
  } else if (::dwarf_formsdata(&attribute, &number) == 0) {
    Dwarf_Word plain = 0;
    const bool is_fixed = form != DW_FORM_sdata && form != DW_FORM_implicit_const;
    if (is_fixed && !is_signed && ::dwarf_formudata(&attribute, &plain) == 0)
      number = Dwarf_Sword(plain);
    where.chain = constant(uint64_t(number));
    where.kind = Where::Kind::kValue;
    return where;
  } else {
    return Where::nowhere(kOptimizedOut);
  }
  where.kind = Where::Kind::kBytes;
  return where;
}

// "+8(INNER)" or "-8(INNER)".
std::string load_text(int64_t offset, const std::string& inner) {
  bool negative = offset < 0;
  std::string number = std::to_string(negative ? -uint64_t(offset) : uint64_t(offset));
  return (negative ? "-" : "+") + number + "(" + inner + ")";
}

std::string start_text(const LoadChain& chain) {
  switch (chain.start) {
    case LoadChain::Start::kRegister:
      return std::string("%") + kRegisterNames[chain.number];
    case LoadChain::Start::kVector:
      return "%xmm" + std::to_string(chain.number);
    case LoadChain::Start::kReturnValue:
      return "$retval";
    case LoadChain::Start::kArgument:
      return "$arg" + std::to_string(chain.number);
    default:
      return "";
  }
}

// `steps`: what is added before each load, at least one.
Result<std::string> loads_text(const LoadChain& chain, std::vector<int64_t> steps,
                               const TextOfAddress& address_text) {
  std::string text = start_text(chain);
  bool is_address =
      chain.start == LoadChain::Start::kAddress || chain.start == LoadChain::Start::kConstant;
  if (steps.size() > kMaxLoads) return user_error(EINVAL, "behind too many pointers");
  if (is_address) {
    uint64_t address = chain.number + uint64_t(steps.front());
    std::optional<std::string> name = chain.start == LoadChain::Start::kConstant
                                          ? "@" + hex_number(address)
                                          : address_text(address);
    if (!name) return user_error(EINVAL, "at an address that no symbol is near");
    text = *name;
    steps.erase(steps.begin());
  }
  for (int64_t step : steps) text = load_text(step, text);
  return text;
}

}  // namespace

Where Where::nowhere(std::string why) {
  Where where;
  where.why = std::move(why);
  return where;
}

Where Where::memory(LoadChain chain) {
  Where where;
  where.kind = Kind::kMemory;
  where.chain = std::move(chain);
  return where;
}

Where Where::value(LoadChain chain) {
  Where where;
  where.kind = Kind::kValue;
  where.chain = std::move(chain);
  return where;
}

bool is_location_list(Dwarf_Attribute attribute) {
  const unsigned form = ::dwarf_whatform(&attribute);
  return form != DW_FORM_exprloc && form != DW_FORM_block1 && form != DW_FORM_block;
}

Where read_location(DebugInfo& info, const ProbePoint& point, Dwarf_Attribute attribute) {
  return read_nested(info, point, attribute, 0);
}

Where read_first_location(DebugInfo& info, ProbePoint point, Dwarf_Attribute attribute,
                          uint64_t* begin) {
  constexpr int kMaxLocations = 4096;
  Dwarf_Addr base = 0, from = 0, to = 0;
  Dwarf_Op *ops = nullptr, *first = nullptr;
  size_t count = 0, nr_first = 0;
  ptrdiff_t next = 0;
  for (int i = 0; i < kMaxLocations; i++) {
    next = ::dwarf_getlocations(&attribute, next, &base, &from, &to, &ops, &count);
    if (next <= 0) break;
    if (count == 0 || (first && from >= *begin)) continue;
    first = ops;
    nr_first = count;
    *begin = from;
  }
  if (!first) return Where::nowhere(kOptimizedOut);
  point.at_entry &= *begin == point.pc;
  point.pc = *begin;
  return Evaluator(info, point, &attribute, 0).run(first, nr_first);
}

Where read_variable(DebugInfo& info, const ProbePoint& point, Dwarf_Die variable) {
  if (std::optional<Dwarf_Attribute> location = attribute_of(variable, DW_AT_location))
    return read_location(info, point, *location);
  if (std::optional<Dwarf_Attribute> value = attribute_of(variable, DW_AT_const_value))
    return constant_value(*value, facts_of(type_of(variable)).is_signed);
  return Where::nowhere(kOptimizedOut);
}

Where part_of(const Where& whole, uint64_t offset, uint64_t size) {
  Where part = whole;
  switch (whole.kind) {
    case Where::Kind::kMemory:
      part.chain.add = wrapped_sum(part.chain.add, offset);
      return part;
    case Where::Kind::kValue:
      part.first_bit += unsigned(offset) * 8;
      if (offset < 8 && part.first_bit + size * 8 <= 64) return part;
      return Where::nowhere("in a part of a register that probes cannot read");
    case Where::Kind::kBytes:
      if (offset > whole.bytes.size() || size > whole.bytes.size() - offset)
        return Where::nowhere(kOptimizedOut);
      part.bytes = whole.bytes.substr(offset, size);
      return part;
    case Where::Kind::kPieces:
      for (const auto& [where, bytes] : whole.pieces) {
        if (offset + size <= bytes) return part_of(where, offset, size);
        if (offset < bytes) return Where::nowhere("spread over several places");
        offset -= bytes;
      }
      return Where::nowhere(kOptimizedOut);
    default:
      return part;
  }
}

Where pointee_of(DebugInfo& info, const ProbePoint& point, const Where& pointer) {
  if (pointer.kind == Where::Kind::kPointerTo) {
    Where target = read_variable(info, point, *pointer.target);
    if (target.kind == Where::Kind::kPointerTo) return Where::nowhere(kOptimizedOut);
    return pointer.target_offset == 0 ? target
                                      : part_of(target, uint64_t(pointer.target_offset), 1);
  }
  Where value = pointer;
  if (pointer.kind == Where::Kind::kPieces) value = part_of(pointer, 0, 8);
  if (value.kind == Where::Kind::kBytes && value.bytes.size() >= 8) {
    uint64_t number;
    std::memcpy(&number, value.bytes.data(), sizeof number);
    value = Where::value(constant(number));
  }
  if (value.kind == Where::Kind::kMemory) {
    value.chain.loads.push_back(value.chain.add);
    value.chain.add = 0;
    return value;
  }
  bool is_whole = value.kind == Where::Kind::kValue && value.first_bit == 0 &&
                  value.chain.width == 64 && value.chain.start != LoadChain::Start::kVector;
  if (is_whole) return Where::memory(value.chain);
  return value.kind == Where::Kind::kNowhere ? value : Where::nowhere(kComputed);
}

Result<std::string> fetch_text(const Where& where, const TextOfAddress& address_text) {
  const LoadChain& chain = where.chain;
  std::vector<int64_t> steps = chain.loads;
  if (where.kind == Where::Kind::kMemory) {
    if (chain.width < 64) return user_error(EINVAL, kComputed);
    steps.push_back(chain.add);
    return loads_text(chain, std::move(steps), address_text);
  }
  if (where.kind != Where::Kind::kValue)
    return user_error(EINVAL, where.why.empty() ? kOptimizedOut : where.why);
  if (chain.is_constant()) return "\\" + std::to_string(int64_t(chain.constant()));
  if (chain.add != 0 || (chain.loads.empty() && chain.start == LoadChain::Start::kAddress))
    return user_error(EINVAL, kComputed);
  if (chain.loads.empty()) return start_text(chain);
  return loads_text(chain, std::move(steps), address_text);
}

}  // namespace patchbay
