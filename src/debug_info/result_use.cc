// SPDX-License-Identifier: MIT
#include "debug_info/result_use.h"

#include <dwarf.h>

#include <algorithm>

#include "debug_info/calling_convention.h"
#include "debug_info/entry_parameters.h"
#include "debug_info/struct_fields.h"

namespace patchbay {
namespace {

constexpr int kMostInsns = 400;   // behind a call
constexpr int kMostCallers = 4;   // one above the other
constexpr int kMostAsked = 1000;  // of them all
constexpr int kAsArgument = -1;   // instead of how many callers are above

std::vector<ResultRegister> result_registers(Dwarf_Die function) {
  const std::optional<Dwarf_Die> type = type_of(function);
  const PassedClass passed = passed_class(type);
  const uint64_t size = facts_of(type).size;
  std::vector<ResultRegister> registers;
  if (wide_word(facts_of(type)) == "long double") return {ResultRegister::kSt0};
  if (passed.in_memory) return registers;
  for (uint64_t i = 0; i < 2 && 8 * i < size; i++) {
    const bool is_second = i == 1 && passed.is_vector[0] == passed.is_vector[1];
    registers.push_back(passed.is_vector[i]
                            ? (is_second ? ResultRegister::kXmm1 : ResultRegister::kXmm0)
                            : (is_second ? ResultRegister::kRdx : ResultRegister::kRax));
  }
  return registers;
}

// Whether a function leaves anything there for who called it.
bool is_returned_in(Dwarf_Die function, ResultRegister result) {
  if (facts_of(type_of(function)).kind == TypeKind::kVoid) return false;
  if (passed_class(type_of(function)).in_memory) return result == ResultRegister::kRax;
  const std::vector<ResultRegister> registers = result_registers(function);
  return std::find(registers.begin(), registers.end(), result) != registers.end();
}

// The function whose code has the address.
std::optional<Dwarf_Die> subprogram_with(Dwarf_Die scope, uint64_t address, int depth) {
  constexpr int kMostScopes = 16;
  for (Dwarf_Die child : children_of(scope)) {
    const int tag = ::dwarf_tag(&child);
    if (tag == DW_TAG_subprogram && holds(child, address)) return child;
    const bool is_scope = tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
                          tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
    if (!is_scope || depth == kMostScopes) continue;
    if (const auto found = subprogram_with(child, address, depth + 1)) return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Dwarf_Die> ResultUses::function_at(uint64_t address) {
  const ObjectSymbol* symbol = info_.symbol_at(address, true);
  const auto [known, is_new] = functions_.try_emplace(symbol ? symbol->address : address);
  if (!is_new) return known->second;
  for (const Dwarf_Die& unit : index_.all())
    if (holds(unit, address)) return known->second = subprogram_with(unit, address, 0);
  return std::nullopt;
}

// What a function returns itself, its callers read.
bool ResultUses::is_read_by_caller_of(uint64_t address, ResultRegister result, int depth) {
  if (depth == kAsArgument) return false;  // it was none
  const std::optional<Dwarf_Die> function = function_at(address);
  if (!function || depth >= kMostCallers || ++nr_asked_ > kMostAsked) return true;
  if (!is_returned_in(*function, result)) return false;
  const std::optional<uint64_t> entry = entry_of(*function);
  return !entry || !may_be_changed(info_, *function, *entry) ||
         !is_never_read(*function, *entry, result, depth + 1);
}

// All ways that go on from there.
bool ResultUses::is_read_from(uint64_t address, ResultRegister result, int depth, int* budget) {
  for (; --*budget > 0;) {
    const std::string_view code = info_.code(address, kMaxInsnLength);
    const auto* bytes = reinterpret_cast<const uint8_t*>(code.data());
    Insn insn;
    if (!decode_insn(bytes, code.size(), address, &insn)) return true;
    const RegisterUse use = use_of_result(bytes, code.size(), result);
    if (insn.kind == InsnKind::kReturn) return is_read_by_caller_of(address, result, depth);
    if (use == RegisterUse::kRead) return true;
    // Another register than rax may be an argument of the next call.
    const bool is_never_passed = result == ResultRegister::kRax || result == ResultRegister::kSt0;
    // A jump to another function is a call, behind which nothing is left to be read.
    const ObjectSymbol* const target =
        insn.kind == InsnKind::kJump ? info_.symbol_at(insn.target, true) : nullptr;
    const bool is_call = insn.kind == InsnKind::kCall || (target && target->address == insn.target);
    if (is_call && use != RegisterUse::kWritten && !is_never_passed) {
      int in_callee = std::min(*budget, kMostInsns / 8);
      return info_.is_code(insn.target) &&
             is_read_from(insn.target, result, kAsArgument, &in_callee);
    }
    const bool is_over = use == RegisterUse::kWritten || is_call ||
                         insn.kind == InsnKind::kIndirectCall || insn.kind == InsnKind::kStop;
    if (is_over) return false;
    if (insn.kind == InsnKind::kIndirectJump) return depth != kAsArgument;
    if (insn.kind == InsnKind::kCondJump && is_read_from(insn.target, result, depth, budget))
      return true;
    address = insn.kind == InsnKind::kJump ? insn.target : address + insn.length;
  }
  return true;
}

bool ResultUses::is_never_read(Dwarf_Die function, uint64_t entry, ResultRegister result,
                               int depth) {
  Dwarf_Die unit;
  if (!::dwarf_diecu(&function, &unit, nullptr, nullptr)) return false;
  const CallSites::Sites* sites = &CallSites::of(info_).of_unit(unit);
  if (!sites->has(entry)) sites = &CallSites::of(info_).of_object();
  if (!sites->has(entry)) return false;
  const auto calls = sites->behind.find(entry), jumps = sites->jumps.find(entry);
  const bool is_read =
      calls != sites->behind.end() &&
      std::any_of(calls->second.begin(), calls->second.end(), [&](uint64_t behind) {
        int budget = kMostInsns;
        return is_read_from(behind, result, depth, &budget);
      });
  const bool is_handed_on =
      jumps != sites->jumps.end() &&
      std::any_of(jumps->second.begin(), jumps->second.end(),
                  [&](uint64_t from) { return is_read_by_caller_of(from, result, depth); });
  return !is_read && !is_handed_on;
}

bool ResultUses::is_never_read(Dwarf_Die function, uint64_t entry) {
  nr_asked_ = 0;
  const std::vector<ResultRegister> registers = result_registers(function);
  return std::any_of(registers.begin(), registers.end(), [&](ResultRegister one) {
    return is_never_read(function, entry, one, 0) || !may_be_made(entry, one);
  });
}

// What is no argument either is made by the function, or by nobody.
bool ResultUses::may_be_made(uint64_t entry, ResultRegister result) const {
  const ObjectSymbol* symbol = info_.symbol_at(entry, true);
  const bool is_argument = result != ResultRegister::kRax && result != ResultRegister::kSt0;
  if (is_argument || !symbol || symbol->address != entry || symbol->size == 0) return true;
  const uint64_t end = entry + symbol->size;
  for (uint64_t at = entry; at < end;) {
    const std::string_view code = info_.code(at, kMaxInsnLength);
    const auto* bytes = reinterpret_cast<const uint8_t*>(code.data());
    Insn insn;
    if (!decode_insn(bytes, code.size(), at, &insn)) return true;
    const bool is_left = insn.kind == InsnKind::kCall || insn.kind == InsnKind::kIndirectCall ||
                         insn.kind == InsnKind::kIndirectJump ||
                         (insn.is_direct_branch() && (insn.target < entry || insn.target >= end));
    if (is_left || use_of_result(bytes, code.size(), result) != RegisterUse::kNone) return true;
    at += insn.length;
  }
  return false;
}

bool ResultUses::is_lost(Dwarf_Die function, uint64_t entry) {
  const TypeFacts facts = facts_of(type_of(function));
  if (facts.kind == TypeKind::kVoid || !may_be_changed(info_, function, entry)) return false;
  // Where the caller has said where it goes, it need not be said again.
  return passed_parameters(function).has_hidden_result || is_never_read(function, entry);
}

}  // namespace patchbay
