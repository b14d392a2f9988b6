// SPDX-License-Identifier: MIT
#include "debug_info/calling_convention.h"

#include <dwarf.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "debug_info/rust_option.h"

namespace patchbay {

bool is_transparent_union(const TypeFacts& facts) {
  if (facts.kind != TypeKind::kAggregate || !facts.die) return false;
  Dwarf_Die die = *facts.die;
  return ::dwarf_tag(&die) == DW_TAG_union_type && (facts.size == 4 || facts.size == 8) &&
         members_of(facts).empty();
}

bool is_rust_reference(const TypeFacts& facts) {
  return facts.kind == TypeKind::kPointer && facts.die && name_of(*facts.die).starts_with('&');
}

namespace {

constexpr unsigned kNrIntegers = 6, kNrVectors = 8;

enum class PassClass : uint8_t { kNone, kInteger, kVector, kMemory };

// What a base type or an array is beside its kind: the convention has cases of their own for these.
bool is_complex(const TypeFacts& facts) {
  return facts.kind == TypeKind::kOther && facts.die &&
         number_of(*facts.die, DW_AT_encoding) == uint64_t{DW_ATE_complex_float};
}
bool is_quad(const TypeFacts& facts) {
  return facts.kind == TypeKind::kFloat && facts.size == 16 && facts.die &&
         name_of(*facts.die) != "long double";
}
bool is_simd(const TypeFacts& facts) {
  return facts.kind == TypeKind::kArray && facts.die && flag_of(*facts.die, DW_AT_GNU_vector);
}

struct Eightbytes {
  PassClass parts[2] = {PassClass::kNone, PassClass::kNone};
  int budget = 4096;  // entries to look at
  bool is_memory = false;

  void merge(uint64_t offset, uint64_t size, PassClass part) {
    if (part == PassClass::kMemory || size == 0 || offset + size > 16) {
      is_memory = true;
      return;
    }
    for (uint64_t i = offset / 8; i <= (offset + size - 1) / 8; i++)
      if (parts[i] != PassClass::kInteger) parts[i] = part;
  }
  // 8 or 16 bytes in one vector register, as the only value.
  void merge_vector(uint64_t offset, uint64_t size) {
    if (size == 8 || (size == 16 && offset == 0))
      merge(offset, 8, PassClass::kVector);
    else
      is_memory = true;
  }
  void classify(std::optional<Dwarf_Die> type, uint64_t offset, int depth);
  void classify_scalar(const TypeFacts& facts, uint64_t offset);
};

void Eightbytes::classify_scalar(const TypeFacts& facts, uint64_t offset) {
  if (is_quad(facts)) return merge_vector(offset, facts.size);
  if (is_complex(facts)) {
    const PassClass part = facts.size <= 16 ? PassClass::kVector : PassClass::kMemory;
    merge(offset, facts.size / 2, part);
    return merge(offset + facts.size / 2, facts.size / 2, part);
  }
  if (is_member_function_pointer(facts)) return merge(offset, 16, PassClass::kInteger);
  // What is not aligned (in a packed class) makes memory of the whole.
  if (facts.size != 0 && offset % facts.size != 0) is_memory = true;
  bool is_vector = facts.kind == TypeKind::kFloat && facts.size <= 8;
  bool is_word = facts.kind == TypeKind::kInteger || facts.kind == TypeKind::kEnum ||
                 facts.kind == TypeKind::kPointer;
  merge(offset, facts.size,
        is_vector ? PassClass::kVector
        : is_word ? PassClass::kInteger
                  : PassClass::kMemory);
}

void Eightbytes::classify(std::optional<Dwarf_Die> type, uint64_t offset, int depth) {
  if (--budget < 0 || depth > 16 || is_memory) {
    is_memory = true;
    return;
  }
  TypeFacts facts = facts_of(type);
  if (is_transparent_union(facts)) return merge(offset, facts.size, PassClass::kInteger);
  if (facts.kind == TypeKind::kAggregate) {
    for (const Member& member : members_of(facts)) {
      if (!member.has_offset) continue;
      uint64_t place = member.bit_size ? member.first_bit / 8 : member.offset;
      if (member.bit_size)
        merge(offset + place, 1, PassClass::kInteger);
      else
        classify(member.type, offset + place, depth + 1);
    }
    return;
  }
  if (is_simd(facts)) return merge_vector(offset, facts.size);
  if (facts.kind == TypeKind::kArray) {
    uint64_t stride = stride_of(facts), length = stride ? facts.size / stride : 0;
    if (facts.size > 16) is_memory = true;
    for (uint64_t i = 0; i < length && !is_memory; i++)
      classify(element_of(facts), offset + i * stride, depth + 1);
    return;
  }
  classify_scalar(facts, offset);
}

// Of a value on the stack. A member that does not lie where its type would asks for nothing: the
// class is packed.
uint64_t alignment_of(std::optional<Dwarf_Die> type, int depth, int* budget) {
  if (--*budget < 0 || depth > 16) return 1;
  const TypeFacts facts = facts_of(type);
  if (is_complex(facts)) return facts.size / 2;
  if (facts.kind == TypeKind::kArray && !is_simd(facts))
    return alignment_of(element_of(facts), depth + 1, budget);
  if (facts.kind != TypeKind::kAggregate) return facts.size;
  uint64_t most = facts.die ? number_of(*facts.die, DW_AT_alignment).value_or(1) : 1;
  for (const Member& member : members_of(facts)) {
    const uint64_t asked = std::max(alignment_of(member.type, depth + 1, budget), member.alignment);
    if (asked != 0 && member.offset % asked == 0) most = std::max(most, asked);
  }
  return most;
}

uint64_t stack_alignment(std::optional<Dwarf_Die> type) {
  int budget = 4096;
  return alignment_of(type, 0, &budget) >= 16 ? 16 : 8;
}

// A destructor that the class has `= default` does what those of its parts do.
bool is_defaulted(Dwarf_Die function) {
  return number_of(function, DW_AT_defaulted) == uint64_t{DW_DEFAULTED_in_class};
}

// A C++ class whose copy is more than a copy of its bytes. `budget`: classes to look at.
bool is_passed_by_reference(const TypeFacts& facts, int depth, int* budget) {
  if (--*budget < 0 || depth > 16) return false;
  if (facts.kind != TypeKind::kAggregate || !facts.die) return false;
  std::optional<uint64_t> convention = number_of(*facts.die, DW_AT_calling_convention);
  if (convention) return *convention == DW_CC_pass_by_reference;
  bool has_defaulted = false;
  for (Dwarf_Die child : children_of(*facts.die)) {
    if (::dwarf_tag(&child) == DW_TAG_inheritance && number_of(child, DW_AT_virtuality).value_or(0))
      return true;
    if (::dwarf_tag(&child) != DW_TAG_subprogram || !name_of(child).starts_with("~")) continue;
    if (!is_defaulted(child)) return true;
    has_defaulted = true;
  }
  if (!has_defaulted) return false;
  for (Dwarf_Die child : children_of(*facts.die)) {
    const int tag = ::dwarf_tag(&child);
    if (tag != DW_TAG_member && tag != DW_TAG_inheritance) continue;
    if (is_passed_by_reference(facts_of(type_of(child)), depth + 1, budget)) return true;
  }
  return false;
}

bool is_passed_by_reference(const TypeFacts& facts) {
  int budget = 1000;
  return is_passed_by_reference(facts, 0, &budget);
}

Eightbytes classes_of(std::optional<Dwarf_Die> type) {
  Eightbytes eightbytes;
  eightbytes.classify(type, 0, 0);
  return eightbytes;
}

// Rust has rules of its own: what is larger than two words is passed by its address.
bool is_of_rust(Dwarf_Die function) {
  Dwarf_Die unit;
  return ::dwarf_diecu(&function, &unit, nullptr, nullptr) &&
         ::dwarf_srclang(&unit) == DW_LANG_Rust;
}

// clang up to 17 passes an __int128 on the stack without aligning it. Where one register is left it
// is in that and on the stack, and neither it nor what stands behind it is followed.
bool splits_wide_integers(Dwarf_Die function) {
  constexpr std::string_view kClang = "clang version ";
  constexpr int kFirstRight = 18;
  Dwarf_Die unit;
  if (!::dwarf_diecu(&function, &unit, nullptr, nullptr)) return false;
  const std::string producer = text_of(unit, DW_AT_producer);
  const size_t at = producer.find(kClang);
  return at != producer.npos && std::atoi(producer.c_str() + at + kClang.size()) < kFirstRight;
}

// What a value of Rust consists of: numbers, and whether it is one of several (an enum with data).
struct RustParts {
  uint64_t offsets[3] = {};
  size_t count = 0;
  bool is_plain = true;
  void add(const TypeFacts& facts, uint64_t offset, int depth) {
    if (facts.kind == TypeKind::kArray || depth > 16 || !facts.die) {
      is_plain &= facts.size == 0;
      return;
    }
    if (facts.kind != TypeKind::kAggregate) {
      if (count < 3) offsets[count] = offset;
      count += count < 3;
      return;
    }
    for (Dwarf_Die child : children_of(*facts.die))
      is_plain &= ::dwarf_tag(&child) != DW_TAG_variant_part;
    for (const Member& member : members_of(facts))
      if (is_plain) add(facts_of(member.type), offset + member.offset, depth + 1);
  }
};

// Two numbers have a register each, also where both are in one word. For what else is larger than a
// word the compiler's version decides, and for an enum with data how its parts lie.
bool is_passed_as_in_c(const TypeFacts& facts) {
  if (facts.kind != TypeKind::kAggregate || facts.size == 0 || facts.size > 16) return true;
  RustParts parts;
  parts.add(facts, 0, 0);
  if (!parts.is_plain) return false;
  if (parts.count == 2) return parts.offsets[0] / 8 != parts.offsets[1] / 8;
  return parts.count < 2 || facts.size <= 8;
}

class Assigner {
 public:
  Assigner(bool is_rust, bool splits_wide) : is_rust_(is_rust), splits_wide_(splits_wide) {}
  void skip_integer() { integers_++; }
  void assign(PassedParameter* parameter);

 private:
  bool take(const Eightbytes& eightbytes, PassedParameter* parameter);
  bool take_option(const TypeFacts& facts, PassedParameter* parameter);
  bool split_pair(const Eightbytes& eightbytes, PassedParameter* parameter);
  bool is_not_aligned(const TypeFacts& facts) const {
    return splits_wide_ && facts.kind == TypeKind::kInteger && facts.size == 16;
  }
  const bool is_rust_, splits_wide_;
  bool is_lost_ = false;  // where integers and what is on the stack are
  bool is_all_lost_ = false;
  unsigned integers_ = 0, vectors_ = 0;
  uint64_t stack_ = 0;
};

bool Assigner::take(const Eightbytes& eightbytes, PassedParameter* parameter) {
  unsigned integers = integers_, vectors = vectors_;
  if (eightbytes.is_memory) return false;
  for (PassClass part : eightbytes.parts) {
    if (part == PassClass::kInteger)
      parameter->registers.push_back({false, integers++});
    else if (part == PassClass::kVector)
      parameter->registers.push_back({true, vectors++});
  }
  bool fits = integers <= kNrIntegers && vectors <= kNrVectors && !parameter->registers.empty();
  if (!fits) return parameter->registers.clear(), false;
  integers_ = integers;
  vectors_ = vectors;
  return true;
}

// Its parts are passed as if they were parameters. Where they find no registers, it is as for any
// other enum with data. Pieces of the object are not what the registers have: it is no value for
// others.
bool Assigner::take_option(const TypeFacts& facts, PassedParameter* parameter) {
  const std::optional<RustOption> option = rust_option(facts);
  if (!option || is_all_lost_) return false;
  const bool is_float = option->value.kind == TypeKind::kFloat;
  const unsigned nr_integers =
      unsigned(option->has_tag) + unsigned(is_float ? 0 : option->nr_words);
  const unsigned nr_vectors = is_float;
  if (integers_ + nr_integers > kNrIntegers || vectors_ + nr_vectors > kNrVectors) return false;
  for (unsigned i = 0; i < nr_integers; i++) parameter->registers.push_back({false, integers_++});
  if (is_float) parameter->registers.push_back({true, vectors_++});
  parameter->is_known = false;
  return true;
}

// Rust passes the two words of a pair by themselves: where one register is left, the first is in it
// and the second on the stack. Nobody shows that.
bool Assigner::split_pair(const Eightbytes& eightbytes, PassedParameter* parameter) {
  const PassClass first = eightbytes.parts[0], second = eightbytes.parts[1];
  if (eightbytes.is_memory || second == PassClass::kNone) return false;
  const auto has_room = [&](PassClass part) {
    return part == PassClass::kInteger ? integers_ < kNrIntegers : vectors_ < kNrVectors;
  };
  for (const PassClass part : {first, second}) {
    const bool is_vector = part == PassClass::kVector;
    unsigned& taken = is_vector ? vectors_ : integers_;
    if (has_room(part))
      parameter->registers.push_back({is_vector, taken++});
    else
      stack_ += 8;
  }
  if (!parameter->registers.empty()) parameter->fate = PassedParameter::Fate::kGone;
  if (parameter->registers.empty()) parameter->stack_offset = stack_ - 16;
  return true;
}

void Assigner::assign(PassedParameter* parameter) {
  TypeFacts facts = facts_of(parameter->type);
  Eightbytes eightbytes;
  const bool is_large = facts.kind == TypeKind::kAggregate && facts.size > 16;
  parameter->registers.clear();
  parameter->stack_offset = 0;
  parameter->in_memory = false;
  parameter->by_reference =
      parameter->is_behind_pointer || (is_rust_ ? is_large : is_passed_by_reference(facts));
  uint64_t size = parameter->by_reference ? 8 : is_member_function_pointer(facts) ? 16 : facts.size;
  if (parameter->by_reference)
    eightbytes.parts[0] = PassClass::kInteger;
  else
    eightbytes = classes_of(parameter->type);
  is_lost_ |= is_not_aligned(facts) && integers_ + 1 == kNrIntegers;
  if (is_rust_ && !is_large && take_option(facts, parameter)) return;
  if (is_rust_ && !is_passed_as_in_c(facts)) is_lost_ = is_all_lost_ = true;
  bool is_empty = !eightbytes.is_memory && eightbytes.parts[0] == PassClass::kNone;
  parameter->is_known = size > 0 && !is_empty;
  if (is_empty && !is_all_lost_) return;  // a class without members is not passed
  const bool has_integer =
      eightbytes.parts[0] == PassClass::kInteger || eightbytes.parts[1] == PassClass::kInteger;
  if ((is_lost_ && has_integer) || is_all_lost_) parameter->is_known = false;
  if ((parameter->is_known && take(eightbytes, parameter)) || size == 0) return;
  const bool is_pair = is_rust_ && facts.kind == TypeKind::kAggregate && !parameter->by_reference;
  if (is_pair && !is_lost_ && split_pair(eightbytes, parameter)) return;
  if (is_lost_) parameter->is_known = false;
  parameter->in_memory = eightbytes.is_memory;
  const bool is_word = parameter->by_reference || is_not_aligned(facts);
  const uint64_t alignment = is_word ? 8 : stack_alignment(parameter->type);
  stack_ = (stack_ + alignment - 1) / alignment * alignment;
  parameter->stack_offset = stack_;
  stack_ += (size + 7) / 8 * 8;
}

// A concrete entry may list fewer parameters than the entry of which it is an instance.
Dwarf_Die entry_with_parameters(Dwarf_Die function) {
  auto count = [](Dwarf_Die die) {
    std::vector<Dwarf_Die> children = children_of(die);
    return std::count_if(children.begin(), children.end(), [](Dwarf_Die child) {
      return ::dwarf_tag(&child) == DW_TAG_formal_parameter;
    });
  };
  Dwarf_Die best = function;
  for (int depth = 0; depth < 8; depth++) {
    std::optional<Dwarf_Die> next = reference_of(function, DW_AT_abstract_origin);
    if (!next) next = reference_of(function, DW_AT_specification);
    if (!next) break;
    function = *next;
    if (count(function) > count(best)) best = function;
  }
  return best;
}

}  // namespace

bool is_returned_by_reference(const TypeFacts& facts) { return is_passed_by_reference(facts); }

PassedClass passed_class(std::optional<Dwarf_Die> type) {
  const Eightbytes eightbytes = classes_of(type);
  PassedClass passed;
  passed.in_memory = eightbytes.is_memory;
  for (int i = 0; i < 2; i++) passed.is_vector[i] = eightbytes.parts[i] == PassClass::kVector;
  passed.is_aligned = stack_alignment(type) == 16;
  return passed;
}

namespace {

// A long double, also as the only member, is returned on the stack of the x87.
bool is_x87(TypeFacts facts) {
  for (int depth = 0; depth < 16 && facts.kind == TypeKind::kAggregate; depth++) {
    const std::vector<Member> members = members_of(facts);
    if (members.size() != 1 || facts.size != 16) return false;
    facts = facts_of(members[0].type);
  }
  return facts.kind == TypeKind::kFloat && facts.size == 16 && !is_quad(facts);
}

// K&R: `int f(a, b) int a; float b;`.
bool has_no_prototype(Dwarf_Die function) {
  Dwarf_Die unit;
  if (!::dwarf_diecu(&function, &unit, nullptr, nullptr)) return false;
  const int language = ::dwarf_srclang(&unit);
  const bool is_c = language == DW_LANG_C89 || language == DW_LANG_C || language == DW_LANG_C99 ||
                    language == DW_LANG_C11;
  return is_c && !flag_of(function, DW_AT_prototyped);
}

// The end of the chain of abstract origins: with link time optimization there may be two.
std::optional<Dwarf_Die> first_origin(Dwarf_Die die) {
  std::optional<Dwarf_Die> origin, next = die;
  for (int depth = 0; depth < 8; depth++) {
    next = reference_of(*next, DW_AT_abstract_origin);
    if (!next) break;
    origin = next;
  }
  return origin;
}

std::optional<Dwarf_Die> parameter_of_origin(Dwarf_Die function, Dwarf_Die origin) {
  for (Dwarf_Die child : children_of(function)) {
    if (::dwarf_tag(&child) != DW_TAG_formal_parameter) continue;
    const auto of = first_origin(child);
    if (of && same_entry(*of, origin)) return child;
  }
  return std::nullopt;
}

}  // namespace

// A copy of a function (DW_AT_abstract_origin) lists its parameters in an order of its own, and a
// constructor's without those that only another copy of it has: __vtt_parm.
PassedParameters listed_parameters(Dwarf_Die function) {
  PassedParameters passed;
  const std::optional<Dwarf_Die> origin = first_origin(function);
  const bool is_k_and_r = has_no_prototype(function);
  for (Dwarf_Die child : children_of(origin ? *origin : entry_with_parameters(function))) {
    passed.is_variadic |= ::dwarf_tag(&child) == DW_TAG_unspecified_parameters;
    if (::dwarf_tag(&child) != DW_TAG_formal_parameter) continue;
    PassedParameter parameter;
    parameter.die = parameter.location_die = child;
    parameter.name = name_of(child);
    parameter.type = type_of(child);
    if (origin) {
      const std::optional<Dwarf_Die> own = parameter_of_origin(function, child);
      if (!own && flag_of(child, DW_AT_artificial)) continue;
      parameter.location_die = own.value_or(Dwarf_Die{});
    }
    const TypeFacts facts = facts_of(parameter.type);
    parameter.is_promoted = is_k_and_r && facts.kind == TypeKind::kFloat && facts.size == 4;
    passed.parameters.push_back(std::move(parameter));
  }
  return passed;
}

void assign_places(Dwarf_Die function, PassedParameters* passed) {
  const bool is_rust = is_of_rust(function);
  Assigner assigner(is_rust, !is_rust && splits_wide_integers(function));
  const std::optional<Dwarf_Die> result = type_of(function);
  const TypeFacts facts = facts_of(result);
  const bool is_aggregate = facts.kind == TypeKind::kAggregate;
  passed->has_hidden_result = is_aggregate && !is_x87(facts) &&
                              (is_passed_by_reference(facts) || classes_of(result).is_memory);
  if (passed->has_hidden_result) assigner.skip_integer();
  for (PassedParameter& parameter : passed->parameters)
    if (parameter.fate == PassedParameter::Fate::kPassed) assigner.assign(&parameter);
}

PassedParameters passed_parameters(Dwarf_Die function) {
  PassedParameters passed = listed_parameters(function);
  assign_places(function, &passed);
  return passed;
}

Where place_of(const PassedParameter& parameter, bool at_return) {
  using Fate = PassedParameter::Fate;
  if (parameter.fate == Fate::kGone) return Where::nowhere(kOptimizedOut);
  if (parameter.fate == Fate::kParts)
    return at_return ? Where::nowhere("not known when the function has returned") : parameter.parts;
  if (parameter.fate == Fate::kConstant) {
    Where where;
    where.kind = Where::Kind::kBytes;
    where.bytes = parameter.constant;
    return where;
  }
  if (parameter.is_promoted)
    return Where::nowhere("a float that is passed as a double, without a prototype");
  if (!parameter.is_known) return Where::nowhere("of a type whose size is not known");
  LoadChain chain;
  std::vector<Where> parts;
  for (const PassedParameter::Register& one : parameter.registers) {
    if (at_return && one.is_vector)
      return Where::nowhere("not known when the function has returned");
    chain.start = at_return       ? LoadChain::Start::kArgument
                  : one.is_vector ? LoadChain::Start::kVector
                                  : LoadChain::Start::kRegister;
    chain.number = at_return       ? one.index + 1
                   : one.is_vector ? one.index
                                   : kArgumentRegisters[one.index];
    parts.push_back(Where::value(chain));
  }
  if (parts.empty() && at_return) return Where::nowhere("not known when the function has returned");
  if (parts.empty()) {
    chain.start = LoadChain::Start::kRegister;
    chain.number = 7;  // rsp, which points to the return address
    chain.add = int64_t(8 + parameter.stack_offset);
    parts.push_back(Where::memory(chain));
    if (parameter.by_reference) {
      parts[0].chain.loads.push_back(parts[0].chain.add);
      parts[0].chain.add = 0;
    }
    return parts[0];
  }
  if (parameter.by_reference) return Where::memory(parts[0].chain);
  if (parts.size() == 1) return parts[0];
  Where where;
  where.kind = Where::Kind::kPieces;
  for (Where& part : parts) where.pieces.push_back({std::move(part), 8});
  return where;
}

Where returned_value(Dwarf_Die function) {
  std::optional<Dwarf_Die> type = type_of(function);
  TypeFacts facts = facts_of(type);
  if (!type || facts.kind == TypeKind::kVoid)
    return Where::nowhere("nothing: the function returns void");
  LoadChain chain;
  chain.start = LoadChain::Start::kReturnValue;
  Eightbytes eightbytes = classes_of(type);
  if (facts.kind == TypeKind::kAggregate && (is_passed_by_reference(facts) || eightbytes.is_memory))
    return Where::memory(chain);
  if (eightbytes.is_memory || eightbytes.parts[0] == PassClass::kNone)
    return Where::nowhere("in a register that probes cannot read");
  auto part = [&](size_t index, bool is_second_of_its_kind) {
    LoadChain one = chain;
    if (eightbytes.parts[index] == PassClass::kVector) {
      one.start = LoadChain::Start::kVector;
      one.number = is_second_of_its_kind ? 1 : 0;
    } else if (is_second_of_its_kind) {
      one.start = LoadChain::Start::kRegister;
      one.number = 1;  // rdx
    }
    return Where::value(one);
  };
  if (eightbytes.parts[1] == PassClass::kNone) return part(0, false);
  Where where;
  where.kind = Where::Kind::kPieces;
  where.pieces.push_back({part(0, false), 8});
  where.pieces.push_back({part(1, eightbytes.parts[0] == eightbytes.parts[1]), 8});
  return where;
}

}  // namespace patchbay
