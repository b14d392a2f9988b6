// SPDX-License-Identifier: MIT
//
// Probes on any instruction, without an agent: what share of the instructions of libsqlite3's and
// libc's functions becomes a jump, an int3, or is refused and why (sampled, seeded); what the
// addresses between them say; and how long it takes to plan, place and take back 10,000 at once.
//
//   place [SAMPLES [PLACES]]
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "arch/x86_64/decoder.h"
#include "patch/patcher.h"
#include "symbol/symbol.h"

namespace {

using namespace patchbay;

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Every instruction of every function, by decoding each from its start to its end.
std::vector<uint64_t> boundaries_of(Module& module) {
  std::vector<uint64_t> all;
  uint64_t end = 0;
  for (const FunctionSymbol& function : module.functions()) {
    if (function.address < end) continue;  // an alias, or inside of the last one
    end = function.address + function.size;
    const std::string_view code = module.original_code(function.address, function.size);
    for (size_t at = 0; at < code.size();) {
      Insn insn;
      const auto* bytes = reinterpret_cast<const uint8_t*>(code.data()) + at;
      if (!decode_insn(bytes, code.size() - at, function.address + at, &insn)) break;
      all.push_back(function.address + at);
      at += insn.length;
    }
  }
  return all;
}

struct Census {
  std::map<std::string, uint64_t> kinds, reasons;
  uint64_t total = 0, jumps = 0;

  void count(const SitePlan& plan) {
    total++;
    jumps += plan.kind == SiteKind::kProbeJump;
    kinds[site_kind_name(plan.kind)]++;
    if (!plan.reason.empty())
      reasons[std::string(site_kind_name(plan.kind)) + ": " + plan.reason]++;
  }
  void print(const char* what) const {
    std::printf("%s: %lu places", what, total);
    for (const auto& [kind, n] : kinds)
      std::printf(", %s %lu (%.1f %%)", kind.c_str(), n, 100.0 * double(n) / double(total));
    std::printf("\n");
    std::vector<std::pair<uint64_t, std::string>> sorted;
    for (const auto& [reason, n] : reasons) sorted.emplace_back(n, reason);
    std::sort(sorted.rbegin(), sorted.rend());
    for (size_t i = 0; i < sorted.size() && i < 10; i++)
      std::printf("    %7lu  %4.1f %%  %s\n", sorted[i].first,
                  100.0 * double(sorted[i].first) / double(total), sorted[i].second.c_str());
  }
};

Module* find_module(SymbolTable& symbols, const char* name) {
  for (Module* module : symbols.modules())
    if (module->name().starts_with(name)) return module;
  return nullptr;
}

// Middle addresses: each must be refused for what it is.
uint64_t wrong_middles(Patcher& patcher, Module& module, const std::vector<uint64_t>& sample) {
  uint64_t wrong = 0, asked = 0;
  for (uint64_t address : sample) {
    Insn insn;
    const auto code = module.original_code(address, kMaxInsnLength);
    const auto* bytes = reinterpret_cast<const uint8_t*>(code.data());
    if (code.empty() || !decode_insn(bytes, code.size(), address, &insn)) continue;
    for (uint64_t at = address + 1; at < address + insn.length; at++, asked++) {
      const SitePlan plan = patcher.plan_insn(module, at);
      wrong += plan.kind != SiteKind::kRefused || !plan.not_a_boundary;
    }
  }
  std::printf("    %lu addresses in the middle of instructions, %lu not refused as such\n", asked,
              wrong);
  return wrong;
}

// pushfq; incq counter(%rip) would need reach: the flags are kept around an absolute increment.
uint64_t g_hits;
size_t counting(uint8_t* out, size_t, uint64_t) {
  static const uint8_t kHead[] = {0x48, 0x8d, 0x64, 0x24, 0x80, 0x9c, 0x50, 0x48, 0xb8};
  static const uint8_t kTail[] = {0x48, 0xff, 0x00, 0x58, 0x9d, 0x48, 0x8d,
                                  0xa4, 0x24, 0x80, 0,    0,    0};
  const uint64_t counter = reinterpret_cast<uint64_t>(&g_hits);
  std::memcpy(out, kHead, sizeof kHead);
  std::memcpy(out + sizeof kHead, &counter, 8);
  std::memcpy(out + sizeof kHead + 8, kTail, sizeof kTail);
  return sizeof kHead + 8 + sizeof kTail;
}

int place_many(Patcher& patcher, Module& module, const std::vector<uint64_t>& places,
               bool single_threaded, const char* order) {
  const double start = now_ms();
  std::vector<SiteChange> changes;
  for (uint64_t address : places) {
    SitePlan plan = patcher.plan_insn(module, address);
    if (plan.kind != SiteKind::kRefused) changes.push_back({std::move(plan), counting});
  }
  const double planned = now_ms();
  auto on = patcher.apply(changes, single_threaded);
  const double placed = now_ms();
  const uint64_t sites = patcher.patched_sites();
  for (SiteChange& change : changes) change.prologue = nullptr;
  auto off = patcher.apply(changes, single_threaded);
  std::printf(
      "%6zu places, %s%s: plan %.1f ms, apply %.1f ms (%lu on, %lu refused), together "
      "%.1f ms; off %.1f ms, %lu left\n",
      places.size(), order, single_threaded ? ", at start-up" : "", planned - start,
      placed - planned, sites, on.ok() ? on->refused : 0, placed - start, now_ms() - placed,
      patcher.patched_sites());
  return on.ok() && off.ok() && patcher.patched_sites() == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const size_t samples = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 40000;
  const size_t count = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 10000;
  if (!::dlopen("libsqlite3.so.0", RTLD_NOW)) std::printf("libsqlite3 is not installed\n");
  auto symbols = make_self_symbol_table();
  symbols->refresh();
  std::mt19937_64 random(7);
  Census both;
  uint64_t wrong = 0;
  int failed = 0;
  for (const char* name : {"libsqlite3", "libc.so"}) {
    Module* module = find_module(*symbols, name);
    if (!module) continue;
    auto patcher = make_patcher();
    std::vector<uint64_t> sample = boundaries_of(*module);
    const size_t all = sample.size();
    std::shuffle(sample.begin(), sample.end(), random);
    if (sample.size() > samples / 2) sample.resize(samples / 2);
    Census census;
    for (uint64_t address : sample) {
      const SitePlan plan = patcher->plan_insn(*module, address);
      census.count(plan);
      both.count(plan);
    }
    std::printf("%zu instructions; ", all);
    census.print(name);
    wrong += wrong_middles(*patcher, *module, sample);
    if (std::strcmp(name, "libsqlite3") != 0) continue;
    std::vector<uint64_t> places(sample.begin(), sample.begin() + std::min(count, sample.size()));
    for (bool at_start : {false, true}) {
      auto fresh = make_patcher();
      failed |= place_many(*fresh, *module, places, at_start, "in random order");
      std::vector<uint64_t> sorted = places;
      std::sort(sorted.begin(), sorted.end());
      failed |= place_many(*fresh, *module, sorted, at_start, "sorted");
    }
  }
  both.print("both");
  return wrong || failed ? 1 : 0;
}
