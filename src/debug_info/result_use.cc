// SPDX-License-Identifier: MIT
#include "debug_info/result_use.h"

#include <algorithm>

#include "arch/x86_64/decoder.h"

namespace patchbay {
namespace {

constexpr uint64_t kMostBytes = 16 << 20;  // of a unit
constexpr int kMostInsns = 200;            // behind a call

}  // namespace

void ResultUses::read_range(uint64_t begin, uint64_t end, Sites* sites) const {
  const std::string_view code = info_.code(begin, std::min(end - begin, kMostBytes));
  for (size_t at = 0; at < code.size();) {
    Insn insn;
    const auto* bytes = reinterpret_cast<const uint8_t*>(code.data()) + at;
    if (!decode_insn(bytes, code.size() - at, begin + at, &insn)) {
      at++;
      continue;
    }
    at += insn.length;
    if (insn.kind == InsnKind::kCall) sites->behind[insn.target].push_back(begin + at);
    if (insn.kind == InsnKind::kJump) sites->is_jumped_to[insn.target] = true;
  }
}

const ResultUses::Sites& ResultUses::sites_of(Dwarf_Die unit) {
  const auto [found, is_new] = sites_.try_emplace(unit.addr);
  if (!is_new) return found->second;
  Dwarf_Addr base = 0, begin = 0, end = 0;
  ptrdiff_t next = 0;
  for (int i = 0; i < 65536; i++) {
    next = ::dwarf_ranges(&unit, next, &base, &begin, &end);
    if (next <= 0) break;
    if (begin < end) read_range(begin, end, &found->second);
  }
  return found->second;
}

// Of a large one it would take too long.
const ResultUses::Sites& ResultUses::sites_of_object() {
  constexpr uint64_t kMostText = 64 << 20;
  const auto [found, is_new] = sites_.try_emplace(nullptr);
  if (!is_new) return found->second;
  const auto ranges = info_.code_ranges();
  uint64_t bytes = 0;
  for (const auto& [begin, end] : ranges) bytes += end - begin;
  if (bytes > kMostText) return found->second;
  for (const auto& [begin, end] : ranges)
    for (uint64_t at = begin; at < end; at += kMostBytes)
      read_range(at, std::min(end, at + kMostBytes), &found->second);
  return found->second;
}

// All ways that go on from there; what a return hands on is read by the caller's callers.
bool ResultUses::is_read_from(uint64_t address, bool is_vector, int* budget) const {
  for (; --*budget > 0;) {
    const std::string_view code = info_.code(address, kMaxInsnLength);
    const auto* bytes = reinterpret_cast<const uint8_t*>(code.data());
    Insn insn;
    if (!decode_insn(bytes, code.size(), address, &insn)) return true;
    const RegisterUse use = use_of_result(bytes, code.size(), is_vector);
    if (insn.kind == InsnKind::kReturn || use == RegisterUse::kRead) return true;
    const bool is_over = use == RegisterUse::kWritten || insn.kind == InsnKind::kCall ||
                         insn.kind == InsnKind::kIndirectCall || insn.kind == InsnKind::kStop;
    if (is_over) return false;
    if (insn.kind == InsnKind::kIndirectJump) return true;
    if (insn.kind == InsnKind::kCondJump && is_read_from(insn.target, is_vector, budget))
      return true;
    address = insn.kind == InsnKind::kJump ? insn.target : address + insn.length;
  }
  return true;
}

bool ResultUses::is_never_read(Dwarf_Die function, uint64_t entry, bool is_vector) {
  Dwarf_Die unit;
  if (!::dwarf_diecu(&function, &unit, nullptr, nullptr)) return false;
  const Sites* sites = &sites_of(unit);
  if (!sites->behind.contains(entry)) sites = &sites_of_object();
  const auto found = sites->behind.find(entry);
  if (found == sites->behind.end() || sites->is_jumped_to.contains(entry)) return false;
  return std::none_of(found->second.begin(), found->second.end(), [&](uint64_t behind) {
    int budget = kMostInsns;
    return is_read_from(behind, is_vector, &budget);
  });
}

}  // namespace patchbay
