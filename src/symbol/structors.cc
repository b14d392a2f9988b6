// SPDX-License-Identifier: MIT
#include "symbol/structors.h"

#include <algorithm>
#include <cstring>

#include "symbol/demangled_name.h"

namespace patchbay {
namespace {

constexpr size_t kMostFunctions = 1000;  // each is compared with each
// What only leads to another one is short. Other constructors may make an object of their own kind.
constexpr size_t kMostCode = 512;

// C1, D0, and CI1 of a constructor that is inherited.
bool is_structor_digit(std::string_view name, size_t at) {
  if (at == 0 || name[at] < '0' || name[at] > '4') return false;
  const char before = name[at - 1];
  return before == 'C' || before == 'D' || (before == 'I' && at > 1 && name[at - 2] == 'C');
}

std::string_view without_clone_suffix(std::string_view symbol) {
  return symbol.substr(0, symbol.size() - clone_suffix(symbol).size());
}

// By their names: from C1 or C2 of a class to its C4 with the same parameters.
bool may_lead_to(std::string_view from, std::string_view to) {
  from = without_clone_suffix(from);
  to = without_clone_suffix(to);
  if (from.size() != to.size() || !from.starts_with("_Z")) return false;
  const size_t at = std::mismatch(from.begin(), from.end(), to.begin()).first - from.begin();
  if (at == from.size() || from.substr(at + 1) != to.substr(at + 1)) return false;
  return is_structor_digit(from, at) && is_structor_digit(to, at) && from[at] < to[at];
}

// Whether a call, or a jump, goes to one of the addresses. Every byte may begin one: that other
// bytes name just this address is not to be expected. A short jump is looked for at the end alone.
bool leads_to(const StructorCode& function, const std::vector<uint64_t>& targets) {
  const std::string_view code = function.code;
  const auto is_target = [&](uint64_t address) {
    return std::find(targets.begin(), targets.end(), address) != targets.end();
  };
  for (size_t at = 0; at + 5 <= code.size(); at++) {
    if (code[at] != '\xe8' && code[at] != '\xe9') continue;
    int32_t distance;
    std::memcpy(&distance, code.data() + at + 1, sizeof distance);
    if (is_target(function.address + at + 5 + uint64_t(int64_t{distance}))) return true;
  }
  const size_t size = code.size();
  return size >= 2 && code[size - 2] == '\xeb' &&
         is_target(function.address + size + uint64_t(int64_t{int8_t(code[size - 1])}));
}

}  // namespace

std::vector<size_t> ways_to_structors(const std::vector<StructorCode>& functions,
                                      const std::function<std::vector<PltEntry>()>& stubs) {
  std::vector<size_t> ways;
  if (functions.size() > kMostFunctions) return ways;
  for (size_t i = 0; i < functions.size(); i++) {
    std::vector<uint64_t> targets;
    for (const StructorCode& other : functions)
      if (may_lead_to(functions[i].symbol, other.symbol) && other.address != functions[i].address)
        targets.push_back(other.address);
    if (targets.empty() || functions[i].code.size() > kMostCode) continue;
    bool leads = leads_to(functions[i], targets);
    if (!leads) {
      targets.clear();
      for (const PltEntry& stub : stubs())
        if (may_lead_to(functions[i].symbol, stub.name)) targets.push_back(stub.address);
      leads = leads_to(functions[i], targets);
    }
    if (leads) ways.push_back(i);
  }
  return ways;
}

bool is_unified_structor(std::string_view symbol) {
  return symbol.starts_with("_ZN") &&
         (symbol.find("C4E") != symbol.npos || symbol.find("D4E") != symbol.npos);
}

}  // namespace patchbay
