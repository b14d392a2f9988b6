// SPDX-License-Identifier: MIT
#include "debug_info/entry_parameters.h"

#include <dwarf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "arch/x86_64/decoder.h"
#include "debug_info/call_sites.h"
#include "debug_info/pointer_use.h"
#include "symbol/demangled_name.h"

namespace patchbay {
namespace {

using Fate = PassedParameter::Fate;
using Register = PassedParameter::Register;

constexpr uint64_t kStackRegister = 7;  // rsp in DWARF
constexpr int64_t kReturnAddress = 8;   // bytes

// What the debug information says of one parameter at the entry.
struct Said {
  enum class Kind : uint8_t {
    kNothing,    // it is not there, or computed from what is
    kConstant,   // `constant`
    kRegisters,  // of each word of 8 bytes, as far as it is known
    kStack,      // at stack_offset
    kInFrame,    // in the frame of the body: nothing of the entry
    kSplit,      // its parts are in places of their own, as no convention has them
  };
  Kind kind = Kind::kNothing;
  std::string constant;  // its bytes
  std::vector<std::optional<Register>> registers;
  uint64_t stack_offset = 0;
  bool is_pointer = false;  // what is there is a pointer to it
  bool is_later = false;    // it speaks of a place behind the entry
  // Of the frame: where it is counted from the frame's base, which is rbp or rsp.
  std::optional<int64_t> home;
  bool is_from_rbp = false;
  // Of pieces: the register of each that is in one.
  std::vector<Register> parts;
  bool has_constant = false;
  Where where;  // of a structure, at the entry
};

std::optional<Register> argument_register(const LoadChain& chain) {
  if (!chain.loads.empty() || chain.add != 0) return std::nullopt;
  if (chain.start == LoadChain::Start::kVector && chain.number < 8)
    return Register{true, unsigned(chain.number)};
  if (chain.start != LoadChain::Start::kRegister) return std::nullopt;
  const auto* found =
      std::find(std::begin(kArgumentRegisters), std::end(kArgumentRegisters), chain.number);
  if (found == std::end(kArgumentRegisters)) return std::nullopt;
  return Register{false, unsigned(found - std::begin(kArgumentRegisters))};
}

bool same_register(const Register& a, const Register& b) {
  return a.is_vector == b.is_vector && a.index == b.index;
}

Said said_of_value(const Where& where) {
  Said said;
  if (where.chain.is_constant()) {
    const uint64_t number = where.chain.constant();
    said.kind = Said::Kind::kConstant;
    said.constant.assign(reinterpret_cast<const char*>(&number), sizeof number);
  } else if (const auto reg = argument_register(where.chain); reg && where.first_bit == 0) {
    said.kind = Said::Kind::kRegisters;
    said.registers = {reg};
  }
  return said;
}

// Behind the return address begins what is passed on the stack.
Said said_of_stack(int64_t distance, bool is_pointer) {
  Said said;
  said.kind = distance >= kReturnAddress ? Said::Kind::kStack : Said::Kind::kInFrame;
  said.stack_offset = uint64_t(distance - kReturnAddress);
  said.is_pointer = is_pointer;
  return said;
}

Said said_of_memory(const Where& where) {
  const LoadChain& chain = where.chain;
  const bool is_stack =
      chain.start == LoadChain::Start::kRegister && chain.number == kStackRegister;
  if (is_stack && chain.loads.empty()) return said_of_stack(chain.add, false);
  if (is_stack && chain.loads.size() == 1 && chain.add == 0)
    return said_of_stack(chain.loads[0], true);
  Said said;
  const auto reg = argument_register(chain);
  if (!reg || reg->is_vector) return said;
  said.kind = Said::Kind::kRegisters;
  said.registers = {reg};
  said.is_pointer = true;
  return said;
}

// The register that a piece shows to have its word of the structure.
std::optional<Register> register_of_word(const Where& piece, uint64_t offset) {
  if (piece.kind != Where::Kind::kValue || piece.first_bit != offset % 8 * 8) return std::nullopt;
  return argument_register(piece.chain);
}

// A structure in registers, one for each word of 8 bytes. Padding has no piece.
Said said_of_pieces(const Where& where) {
  Said said;
  said.kind = Said::Kind::kRegisters;
  bool is_split = false;
  uint64_t offset = 0;
  for (const auto& [piece, bytes] : where.pieces) {
    const std::optional<Register> reg = register_of_word(piece, offset);
    const bool is_constant = piece.kind == Where::Kind::kBytes ||
                             (piece.kind == Where::Kind::kValue && piece.chain.is_constant());
    const bool is_nowhere = piece.kind == Where::Kind::kNowhere;
    if (piece.first_bit == 0 && piece.kind == Where::Kind::kValue)
      if (const auto own = argument_register(piece.chain)) said.parts.push_back(*own);
    said.has_constant |= is_constant;
    said.registers.resize(std::max<size_t>(said.registers.size(), offset / 8 + 1));
    std::optional<Register>& word = said.registers[offset / 8];
    // Something of its own in a part of a word.
    is_split |=
        is_constant || (!reg && !is_nowhere) || (reg && word && !same_register(*reg, *word));
    if (reg) word = reg;
    offset += bytes;
  }
  // Where all is computed, of the stack for one, it is passed, and nothing says where.
  const bool is_anywhere = std::any_of(said.registers.begin(), said.registers.end(),
                                       [](const auto& reg) { return reg.has_value(); });
  if (!is_anywhere) said.kind = Said::Kind::kInFrame;
  if (is_split) said.kind = Said::Kind::kSplit;
  return said;
}

// Whether a piece is everywhere that the type has a member.
bool are_members_said(const Where& where, std::optional<Dwarf_Die> type, uint64_t offset,
                      int depth) {
  const TypeFacts facts = facts_of(type);
  if (facts.kind == TypeKind::kAggregate && depth < 8 && !members_of(facts).empty()) {
    const std::vector<Member> members = members_of(facts);
    return std::all_of(members.begin(), members.end(), [&](const Member& member) {
      if (!member.has_offset) return true;
      return member.bit_size
                 ? true
                 : are_members_said(where, member.type, offset + member.offset, depth + 1);
    });
  }
  uint64_t begin = 0, said = 0;
  for (const auto& [piece, bytes] : where.pieces) {
    const uint64_t first = std::max(begin, offset),
                   last = std::min(begin + bytes, offset + facts.size);
    const bool is_gone = piece.kind == Where::Kind::kNowhere && piece.why == kOptimizedOut;
    if (first < last && !is_gone) said += last - first;
    begin += bytes;
  }
  return said >= facts.size;
}

bool is_of_llvm(Dwarf_Die function) {
  Dwarf_Die unit;
  return ::dwarf_diecu(&function, &unit, nullptr, nullptr) && is_unit_of_llvm(unit);
}

// What the places of a function's variables are counted from.
class Frame {
 public:
  Frame(DebugInfo& info, Dwarf_Die function) : info_(info), function_(function) {
    std::optional<Dwarf_Attribute> base = attribute_of(function, DW_AT_frame_base);
    Dwarf_Op* ops = nullptr;
    size_t count = 0;
    if (base && !is_location_list(*base) && ::dwarf_getlocation(&*base, &ops, &count) == 0 &&
        count == 1)
      base_ = ops[0].atom;
  }
  bool is_rbp() const { return base_ == DW_OP_reg6; }
  bool is_rsp() const { return base_ == DW_OP_reg7; }
  // How far above the stack pointer of the entry a place is; nothing: that is not known.
  std::optional<int64_t> above_entry(int64_t offset) {
    if (base_ == DW_OP_call_frame_cfa) return offset + kReturnAddress;
    if (is_rbp()) return offset - kReturnAddress;  // rbp, which is pushed below it
    if (is_rsp() && !std::exchange(has_looked_, true)) depth_ = depth_of_body();
    if (!depth_) return std::nullopt;
    return offset - *depth_ + kReturnAddress;
  }

 private:
  std::optional<int64_t> depth_of_body();
  int64_t depth_of_prologue(uint64_t at, uint64_t end) const;

  DebugInfo& info_;
  Dwarf_Die function_;
  unsigned base_ = 0;
  bool has_looked_ = false;
  std::optional<int64_t> depth_;
};

// How far the stack pointer is below the canonical frame address in the body: nearly everywhere,
// for it moves at both ends alone.
std::optional<int64_t> Frame::depth_of_body() {
  constexpr uint64_t kMostLooks = 256;
  Dwarf_Addr low = 0, high = 0;
  if (::dwarf_lowpc(&function_, &low) != 0 || ::dwarf_highpc(&function_, &high) != 0 || high <= low)
    return std::nullopt;
  std::map<int64_t, int> seen;
  const uint64_t step = (high - low + kMostLooks - 1) / kMostLooks;
  for (uint64_t pc = low; pc < high; pc += step) {
    const auto [ops, count] = info_.frame_address(pc);
    const bool is_stack = ops && count == 1 && ops[0].atom == DW_OP_breg7;
    if (is_stack) seen[int64_t(ops[0].number)]++;
  }
  const auto most = std::max_element(
      seen.begin(), seen.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == seen.end() ? depth_of_prologue(low, high) : most->first;
}

// The same where no call frame information says it: what the first instructions take.
int64_t Frame::depth_of_prologue(uint64_t at, uint64_t end) const {
  int64_t depth = kReturnAddress, most = depth;
  while (at < end) {
    const std::string_view code = info_.code(at, kMaxInsnLength);
    const auto* bytes = reinterpret_cast<const uint8_t*>(code.data());
    Insn insn;
    DataFlow flow;
    if (!decode_insn(bytes, code.size(), at, &insn) || insn.kind == InsnKind::kIndirectCall ||
        insn.ends_flow() || insn.is_direct_branch() || !decode_data_flow(bytes, code.size(), &flow))
      break;
    if (flow.copied_to == kRspNumber && flow.copied_from == kRspNumber) depth -= flow.added;
    most = std::max(most, depth);
    at += insn.length;
  }
  return most;
}

// A location for the whole function that speaks of its frame.
std::optional<Said> said_of_frame(Frame& frame, Dwarf_Attribute* attribute, uint64_t pc) {
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  if (is_location_list(*attribute)) return std::nullopt;
  if (::dwarf_getlocation_addr(attribute, pc, &ops, &count, 1) < 1 || count == 0)
    return std::nullopt;
  const unsigned first = ops[0].atom;
  const bool is_frame = first == DW_OP_fbreg || first == DW_OP_call_frame_cfa ||
                        first == DW_OP_breg6 || first == DW_OP_breg7;
  if (!is_frame) return std::nullopt;
  const auto offset = int64_t(ops[0].number);
  if (first == DW_OP_fbreg && count == 1)
    if (const auto distance = frame.above_entry(offset))
      if (*distance >= kReturnAddress) return said_of_stack(*distance, false);
  Said said;
  said.kind = Said::Kind::kInFrame;
  said.is_pointer = ops[count - 1].atom == DW_OP_deref;
  if (first == DW_OP_fbreg && (frame.is_rbp() || frame.is_rsp())) said.home = offset;
  said.is_from_rbp = frame.is_rbp();
  return said;
}

bool is_optimized_parameter(Dwarf_Die die) {
  Dwarf_Attribute location;
  if (::dwarf_hasattr(&die, DW_AT_const_value)) return true;
  if (!::dwarf_attr(&die, DW_AT_location, &location)) return false;
  if (is_location_list(location)) return true;
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  return ::dwarf_getlocation(&location, &ops, &count) == 0 && count > 0 &&
         ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31;
}

// Without optimization all parameters of a unit lie in frames.
bool has_optimized_code(Dwarf_Die scope, int depth) {
  constexpr int kMostScopes = 8;
  const std::vector<Dwarf_Die> children = children_of(scope);
  return std::any_of(children.begin(), children.end(), [&](Dwarf_Die child) {
    const int tag = ::dwarf_tag(&child);
    if (tag == DW_TAG_formal_parameter) return is_optimized_parameter(child);
    const bool is_scope = tag == DW_TAG_subprogram || tag == DW_TAG_namespace ||
                          tag == DW_TAG_structure_type || tag == DW_TAG_class_type;
    return is_scope && depth < kMostScopes && has_optimized_code(child, depth + 1);
  });
}

Said said_by(const Where& where, const PassedParameter& parameter) {
  const bool is_computed = where.kind == Where::Kind::kNowhere && where.why != kOptimizedOut;
  if (is_computed && facts_of(parameter.type).kind == TypeKind::kAggregate) {
    // Some part of it is: the whole is passed all the same.
    Said said;
    said.kind = Said::Kind::kInFrame;
    return said;
  }
  switch (where.kind) {
    case Where::Kind::kValue: {
      Said said = said_of_value(where);
      const TypeFacts facts = facts_of(parameter.type);
      // A number of 16 bytes that needs 8 alone.
      if (said.kind == Said::Kind::kConstant && facts.kind == TypeKind::kInteger &&
          facts.size == 16)
        said.constant.append(8, facts.is_signed && said.constant.back() < 0 ? '\xff' : '\0');
      return said;
    }
    case Where::Kind::kMemory:
      return said_of_memory(where);
    case Where::Kind::kPieces:
      // LLVM's callers may leave out the words that are never read.
      if (is_of_llvm(parameter.die) && !are_members_said(where, parameter.type, 0, 0)) return {};
      return said_of_pieces(where);
    case Where::Kind::kBytes: {
      Said said;
      if (where.bytes.empty()) return said;
      said.kind = Said::Kind::kConstant;
      said.constant = where.bytes;
      return said;
    }
    default:
      return {};
  }
}

Said said_of(DebugInfo& info, Frame& frame, Dwarf_Die function, uint64_t entry,
             const PassedParameter& parameter) {
  if (!parameter.location_die.addr) return {};
  ProbePoint point;
  point.pc = entry;
  point.function = point.concrete = function;
  point.at_entry = true;
  std::optional<Dwarf_Attribute> location = attribute_of(parameter.location_die, DW_AT_location);
  if (location)
    if (std::optional<Said> said = said_of_frame(frame, &*location, entry)) return *said;
  const Where where = read_variable(info, point, parameter.location_die);
  const bool is_elsewhere = where.kind == Where::Kind::kNowhere && where.why == kOptimizedOut;
  if (!is_elsewhere || !location || !is_location_list(*location)) {
    Said said = said_by(where, parameter);
    if (facts_of(parameter.type).kind == TypeKind::kAggregate) said.where = where;
    return said;
  }
  uint64_t begin = entry;
  Said said = said_by(read_first_location(info, point, *location, &begin), parameter);
  said.is_later = begin != entry;
  return said;
}

bool is_passed(const Said& said) {
  return said.kind != Said::Kind::kNothing && said.kind != Said::Kind::kConstant;
}

// Whether the place that a convention gives is the one that the debug information says.
bool agrees(const Said& said, const PassedParameter& assigned) {
  // The parts of Rust's Option are passed as parameters of their own.
  const bool is_in_parts = !assigned.is_known && !assigned.registers.empty();
  if (is_in_parts && said.has_constant) return false;
  if (is_in_parts && said.parts.size() == assigned.registers.size())
    return std::equal(said.parts.begin(), said.parts.end(), assigned.registers.begin(),
                      same_register);
  if (!assigned.is_known) return true;
  switch (said.kind) {
    case Said::Kind::kStack:
      return assigned.registers.empty() && assigned.stack_offset == said.stack_offset &&
             said.is_pointer == assigned.by_reference;
    case Said::Kind::kRegisters:
      if (said.is_pointer != assigned.by_reference) return false;
      if (said.registers.size() > assigned.registers.size()) return false;
      for (size_t i = 0; i < said.registers.size(); i++) {
        const auto& reg = said.registers[i];
        if (reg && !same_register(*reg, assigned.registers[i])) return false;
      }
      return true;
    case Said::Kind::kSplit:
      return false;
    default:
      return true;
  }
}

bool same_place(const PassedParameter& a, const PassedParameter& b) {
  return a.stack_offset == b.stack_offset &&
         std::equal(a.registers.begin(), a.registers.end(), b.registers.begin(), b.registers.end(),
                    same_register);
}

bool has_no_members(const TypeFacts& facts) {
  return facts.kind == TypeKind::kAggregate && facts.size <= 1 && members_of(facts).empty();
}

class Judge {
 public:
  Judge(DebugInfo& info, Dwarf_Die function, uint64_t entry)
      : info_(info), function_(function), entry_(entry) {}
  PassedParameters run();
  bool may_be_changed() const;

 private:
  void find_stores();
  bool take_stored(const PassedParameter& parameter, Said* said) const;
  bool all_agree(const PassedParameters& assigned) const;
  bool is_clone() const;
  bool has_known_callers() const;
  bool may_be_unset(const Said& said) const;
  void judge_later(const PassedParameters& all);
  void mark_removed(PassedParameters* passed) const;
  void take_said(PassedParameters* passed) const;
  PassedParameters choose();
  void take_parts(PassedParameters* passed) const;
  void mark_unread(PassedParameters* passed);
  bool is_optimized() const;

  DebugInfo& info_;
  const Dwarf_Die function_;
  const uint64_t entry_;
  std::vector<Said> said_;
  std::vector<ArgumentStore> stores_;
};

// Of a promoted parameter it is said where the function has put what it makes of it.
bool Judge::all_agree(const PassedParameters& assigned) const {
  for (size_t i = 0; i < said_.size(); i++) {
    const PassedParameter& parameter = assigned.parameters[i];
    const bool is_converted = parameter.is_promoted && !has_known_callers();
    if (is_passed(said_[i]) && !is_converted && !agrees(said_[i], parameter)) return false;
  }
  return true;
}

// Whether a symbol's end says that the function is another one than in the source. That of link
// time optimization only tells namesakes apart.
bool says_it_is_changed(std::string_view suffix) {
  while (!suffix.empty()) {
    const std::string_view word = suffix.substr(1, suffix.find('.', 1) - 1);
    const bool is_number = word.find_first_not_of("0123456789") == word.npos;
    if (!is_number && word != "lto_priv" && word != "localalias") return true;
    suffix.remove_prefix(word.size() + 1);
  }
  return false;
}

// gcc gives another symbol to a function that it has changed. clang marks its entry.
bool Judge::is_clone() const {
  if (number_of(function_, DW_AT_calling_convention).value_or(0) == DW_CC_nocall) return true;
  const ObjectSymbol* symbol = info_.symbol_at(entry_, true);
  if (!symbol || symbol->address != entry_) return false;
  return says_it_is_changed(clone_suffix(symbol->name));
}

// A compiler may pass to it what it likes: nobody else calls it.
bool Judge::has_known_callers() const {
  const ObjectSymbol* symbol = info_.symbol_at(entry_, true);
  const bool is_local = symbol && symbol->address == entry_ && symbol->is_local;
  return is_clone() || is_local || !flag_of(function_, DW_AT_external);
}

// LLVM changes a local function and leaves its name as it is.
bool Judge::may_be_changed() const {
  if (is_clone()) return true;
  return has_known_callers() && is_of_llvm(function_) && is_optimized();
}

bool Judge::is_optimized() const {
  Dwarf_Die unit, function = function_;
  // LLVM says of optimized functions alone that all their calls are listed.
  const bool lists_calls =
      flag_of(function, DW_AT_call_all_calls) || flag_of(function, DW_AT_GNU_all_call_sites);
  if (lists_calls && is_of_llvm(function)) return true;
  if (!::dwarf_diecu(&function, &unit, nullptr, nullptr)) return false;
  const auto [known, is_new] = info_.optimized_units.try_emplace(unit.addr, false);
  if (is_new) known->second = has_optimized_code(unit, 0);
  return known->second;
}

// What the first instructions put into the frame: registers as they were at the entry.
void Judge::find_stores() {
  constexpr int kMostInsns = 64;
  uint64_t at = entry_;
  uint32_t gone = 0;  // registers that have something else by now
  for (int i = 0; i < kMostInsns; i++) {
    const std::string_view code = info_.code(at, kMaxInsnLength);
    const auto* bytes = reinterpret_cast<const uint8_t*>(code.data());
    Insn insn;
    ArgumentStore store;
    if (!decode_insn(bytes, code.size(), at, &insn)) return;
    if (insn.ends_flow() || insn.is_direct_branch() || insn.kind == InsnKind::kIndirectCall) return;
    const bool is_store = decode_argument_store(bytes, code.size(), &store);
    const int number = store.is_vector ? 6 + store.index : store.index;
    if (is_store && !(gone >> number & 1)) stores_.push_back(store);
    gone |= argument_registers_written(bytes, code.size());
    at += insn.length;
  }
}

// From which registers the place in the frame is filled; false: it is not so.
bool Judge::take_stored(const PassedParameter& parameter, Said* said) const {
  if (!said->home) return false;
  const uint64_t size = said->is_pointer ? 8 : facts_of(parameter.type).size;
  Said made;
  made.kind = Said::Kind::kRegisters;
  made.is_pointer = said->is_pointer;
  for (uint64_t offset = 0; offset < size && offset < 16; offset += 8) {
    const auto store = std::find_if(stores_.begin(), stores_.end(), [&](const auto& one) {
      return one.is_from_rbp == said->is_from_rbp &&
             one.displacement == *said->home + int64_t(offset);
    });
    if (store == stores_.end()) return false;
    made.registers.emplace_back(Register{store->is_vector, store->index});
  }
  if (size == 0 || size > 16) return false;
  *said = std::move(made);
  return true;
}

// Whether a caller may have left out what the later place does not have. LLVM's do so also where
// the function itself is as its source says.
bool Judge::may_be_unset(const Said& said) const {
  const bool is_whole = is_passed(said) && !(said.kind == Said::Kind::kSplit && said.has_constant);
  return !is_whole && is_of_llvm(function_) && CallSites::of(info_).may_be_known(function_, entry_);
}

// Of some parameters the first bytes say nothing and later ones do. They are passed, as the
// convention has it, where the function is as its source says; but a compiler that has changed it
// may have put in a constant only there.
void Judge::judge_later(const PassedParameters& all) {
  const bool is_changed =
      is_clone() || std::any_of(said_.begin(), said_.end(),
                                [](const Said& one) { return !one.is_later && !is_passed(one); });
  for (size_t i = 0; i < said_.size(); i++) {
    Said& said = said_[i];
    if (!said.is_later) continue;
    const bool is_same = said.kind == Said::Kind::kRegisters && agrees(said, all.parameters[i]);
    const bool is_certain = has_known_callers() ? is_same && !is_changed : !may_be_unset(said);
    said.kind = is_certain ? Said::Kind::kInFrame : Said::Kind::kNothing;
  }
}

void Judge::mark_removed(PassedParameters* passed) const {
  for (size_t i = 0; i < said_.size(); i++) {
    PassedParameter& parameter = passed->parameters[i];
    if (said_[i].kind == Said::Kind::kNothing) parameter.fate = Fate::kGone;
    if (said_[i].kind != Said::Kind::kConstant) continue;
    parameter.fate = Fate::kConstant;
    parameter.constant = said_[i].constant;
  }
}

// No convention has these places: each is where its location says, and what only the body's frame
// would say is not known.
void Judge::take_said(PassedParameters* passed) const {
  for (size_t i = 0; i < said_.size(); i++) {
    PassedParameter& parameter = passed->parameters[i];
    const Said& said = said_[i];
    // What is passed in memory stays there, whatever the registers have.
    const bool is_in_memory =
        said.kind == Said::Kind::kInFrame && parameter.in_memory && !parameter.by_reference;
    if (parameter.fate != Fate::kPassed || is_in_memory) continue;
    // A number of 16 bytes is not always aligned there.
    const bool is_wide = facts_of(parameter.type).kind == TypeKind::kInteger &&
                         facts_of(parameter.type).size > 8 && !parameter.by_reference;
    if (said.kind == Said::Kind::kStack && said.is_pointer == parameter.by_reference &&
        !parameter.is_promoted && !is_wide) {
      parameter.registers.clear();
      parameter.stack_offset = said.stack_offset;
      continue;
    }
    const bool is_whole =
        said.kind == Said::Kind::kRegisters && said.is_pointer == parameter.by_reference &&
        said.registers.size() == std::max<size_t>(parameter.registers.size(), 1) &&
        std::all_of(said.registers.begin(), said.registers.end(),
                    [](const auto& reg) { return reg.has_value(); });
    if (!is_whole || parameter.is_promoted) {
      parameter.fate = Fate::kGone;
      parameter.registers.clear();
      continue;
    }
    parameter.registers.clear();
    parameter.stack_offset = 0;
    for (const auto& reg : said.registers) parameter.registers.push_back(*reg);
  }
}

// What is known of structures of which the compiler passes parts.
void Judge::take_parts(PassedParameters* passed) const {
  for (size_t i = 0; i < said_.size(); i++) {
    PassedParameter& parameter = passed->parameters[i];
    if (parameter.fate != Fate::kGone || said_[i].where.kind != Where::Kind::kPieces) continue;
    parameter.fate = Fate::kParts;
    parameter.parts = said_[i].where;
  }
}

// What a caller that knows the function need not store, because it never reads it: with LLVM, the
// whole of a structure on the stack; with both, what stands behind an address.
void Judge::mark_unread(PassedParameters* passed) {
  if (!is_optimized()) return;
  PointerUses uses(info_);
  if (!uses.has_effect(entry_)) return;
  PassedParameters marked = *passed;
  bool is_any = false;
  for (PassedParameter& parameter : marked.parameters) {
    if (parameter.fate != Fate::kPassed) continue;
    const TypeFacts facts = facts_of(parameter.type);
    const bool is_reference = facts.is_reference || is_rust_reference(facts);
    if (parameter.by_reference || is_reference) {
      const bool is_in_register =
          parameter.registers.size() == 1 && !parameter.registers[0].is_vector;
      parameter.read =
          is_in_register ? uses.behind_register(entry_, parameter.registers[0].index) : ReadBytes();
      const TypeFacts object = is_reference ? facts_of(element_of(facts)) : facts;
      is_any |= !parameter.read->all_of(0, int64_t(object.size));
    } else if (facts.kind == TypeKind::kAggregate && parameter.registers.empty() &&
               is_of_llvm(function_)) {
      const auto begin = int64_t(parameter.stack_offset);
      if (uses.of_stack(entry_).any_of(begin, begin + int64_t(facts.size))) continue;
      parameter.fate = Fate::kGone;
      is_any = true;
    }
  }
  if (is_any && CallSites::of(info_).may_be_known(function_, entry_)) *passed = std::move(marked);
}

PassedParameters Judge::run() {
  PassedParameters passed = choose();
  take_parts(&passed);
  mark_unread(&passed);
  return passed;
}

PassedParameters Judge::choose() {
  PassedParameters listed = listed_parameters(function_);
  Frame frame(info_, function_);
  for (PassedParameter& parameter : listed.parameters) {
    said_.push_back(said_of(info_, frame, function_, entry_, parameter));
    parameter.is_behind_pointer = said_.back().is_pointer && !said_.back().is_later;
  }
  PassedParameters all = listed, living = listed;
  assign_places(function_, &all);
  judge_later(all);
  // What only the body's frame has may be made there, of a constant or of parts.
  if (may_be_changed()) {
    find_stores();
    for (size_t i = 0; i < said_.size(); i++)
      if (said_[i].kind == Said::Kind::kInFrame && !take_stored(listed.parameters[i], &said_[i]))
        said_[i].kind = Said::Kind::kNothing;
  }
  // A class without members is nowhere, and was never anywhere.
  for (size_t i = 0; i < said_.size(); i++)
    if (has_no_members(facts_of(listed.parameters[i].type)) && !all.parameters[i].is_known &&
        said_[i].kind == Said::Kind::kNothing)
      said_[i].kind = Said::Kind::kInFrame;
  mark_removed(&living);
  assign_places(function_, &living);
  const bool by_all = all_agree(all), by_living = all_agree(living);
  if (!by_all && !by_living) {
    take_said(&living);
    return living;
  }
  if (!by_all) return living;
  mark_removed(&all);
  if (!by_living || !has_known_callers()) return all;
  // Both would be right by what is known: what they have in different places is not.
  for (size_t i = 0; i < said_.size(); i++) {
    const bool is_said =
        said_[i].kind == Said::Kind::kRegisters || said_[i].kind == Said::Kind::kStack;
    if (all.parameters[i].fate == Fate::kPassed && !is_said &&
        !same_place(all.parameters[i], living.parameters[i]))
      all.parameters[i].fate = Fate::kGone;
  }
  return all;
}

}  // namespace

PassedParameters entry_parameters(DebugInfo& info, Dwarf_Die function, uint64_t entry) {
  return Judge(info, function, entry).run();
}

bool may_be_changed(DebugInfo& info, Dwarf_Die function, uint64_t entry) {
  return Judge(info, function, entry).may_be_changed();
}

}  // namespace patchbay
