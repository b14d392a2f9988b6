// SPDX-License-Identifier: MIT
#include "debug_info/call_sites.h"

#include <dwarf.h>

#include <algorithm>
#include <numeric>

#include "arch/x86_64/decoder.h"
#include "debug_info/die.h"

namespace patchbay {
namespace {

constexpr uint64_t kMostUnitBytes = 16 << 20;

// Units of gcc's that link time optimization has put together: a function may be anywhere in them.
// Those of LLVM look as ever.
bool may_be_linked_as_one(Dwarf_Die unit) {
  return is_unit_of_llvm(unit) || text_of(unit, DW_AT_producer).starts_with("GNU GIMPLE");
}

}  // namespace

CallSites& CallSites::of(DebugInfo& info) {
  if (!info.call_sites) info.call_sites = std::make_shared<CallSites>(info);
  return *info.call_sites;
}

void CallSites::find_stubs() {
  stubs_.emplace();
  const std::vector<PltEntry> plt = info_.plt();
  std::unordered_map<std::string_view, uint64_t> stub_of;
  for (const PltEntry& stub : plt) stub_of.emplace(stub.name, stub.address);
  for (const ObjectSymbol& symbol : info_.symbols())
    if (const auto stub = stub_of.find(symbol.name);
        stub != stub_of.end() && symbol.is_function && !symbol.is_local)
      stubs_->emplace(stub->second, symbol.address);
}

void CallSites::read_range(uint64_t begin, uint64_t end, Sites* sites) {
  if (!stubs_) find_stubs();
  const std::string_view code = info_.code(begin, std::min(end - begin, kMostUnitBytes));
  for (size_t at = 0; at < code.size();) {
    Insn insn;
    const auto* bytes = reinterpret_cast<const uint8_t*>(code.data()) + at;
    if (!decode_insn(bytes, code.size() - at, begin + at, &insn)) {
      at++;
      continue;
    }
    if (insn.kind == InsnKind::kJump || insn.kind == InsnKind::kCall)
      if (const auto stub = stubs_->find(insn.target); stub != stubs_->end())
        sites->through_stubs.insert(stub->second);
    if (insn.kind == InsnKind::kJump) sites->jumps[insn.target].push_back(begin + at);
    at += insn.length;
    if (insn.kind == InsnKind::kCall) sites->behind[insn.target].push_back(begin + at);
  }
}

const CallSites::Sites& CallSites::of_unit(Dwarf_Die unit) {
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
const CallSites::Sites& CallSites::of_object() {
  constexpr uint64_t kMostText = 64 << 20;
  const auto [found, is_new] = sites_.try_emplace(nullptr);
  if (!is_new) return found->second;
  const auto ranges = info_.code_ranges();
  uint64_t bytes = 0;
  for (const auto& [begin, end] : ranges) bytes += end - begin;
  if (bytes > kMostText) return found->second;
  for (const auto& [begin, end] : ranges)
    for (uint64_t at = begin; at < end; at += kMostUnitBytes)
      read_range(at, std::min(end, at + kMostUnitBytes), &found->second);
  return found->second;
}

// LLVM knows a function also where another library may put itself before it.
bool CallSites::may_be_known(Dwarf_Die function, uint64_t entry) {
  Dwarf_Die unit;
  if (!::dwarf_diecu(&function, &unit, nullptr, nullptr)) return true;
  const auto has = [&](const Sites& sites) {
    return sites.has(entry) || (is_unit_of_llvm(unit) && sites.through_stubs.contains(entry));
  };
  if (has(of_unit(unit))) return true;
  if (!may_be_linked_as_one(unit)) return false;
  // To read all of a large one for this would take too long.
  constexpr uint64_t kMostLinked = 16 << 20;
  const auto& ranges = info_.code_ranges();
  const uint64_t bytes =
      std::accumulate(ranges.begin(), ranges.end(), uint64_t{0},
                      [](uint64_t sum, const auto& one) { return sum + one.second - one.first; });
  return bytes > kMostLinked || has(of_object());
}

}  // namespace patchbay
