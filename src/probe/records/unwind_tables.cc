// SPDX-License-Identifier: MIT
#include "probe/records/unwind_tables.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/monotonic_clock.h"
#include "probe/records/stack_hot.h"

namespace patchbay {
namespace {

bool same(const std::vector<UnwindModule>& a, const std::vector<UnwindModule>& b) {
  return std::ranges::equal(a, b, [](const UnwindModule& x, const UnwindModule& y) {
    return x.first == y.first && x.last == y.last && x.rows == y.rows && x.blocks == y.blocks;
  });
}

}  // namespace

const UnwindTable& UnwindTables::table_of(Module* module) {
  const UnwindTable*& known = of_module_[module];
  if (known) return *known;
  // The same file again needs no table of its own: rows count from the object's start.
  const std::string& id = module->build_id();
  std::unique_ptr<UnwindTable>& table =
      by_identity_[id.empty() ? module->path() + "@" + std::to_string(module->start()) : id];
  if (!table) {
    const uint64_t from = monotonic_ns();
    table = std::make_unique<UnwindTable>(module->unwind_table());
    made_ns_ += monotonic_ns() - from;
  }
  known = table.get();
  return *known;
}

void UnwindTables::publish(std::vector<UnwindModule> modules) {
  auto found = std::ranges::find_if(
      versions_, [&](const Version& version) { return same(version.modules, modules); });
  if (found == versions_.end()) {
    versions_.push_back({std::move(modules), {}});
    found = versions_.end() - 1;
    found->view = {found->modules.size(), found->modules.data()};
  }
  current_ = &*found;
  __atomic_store_n(&pb_unwind_modules, &found->view, __ATOMIC_RELEASE);  // pairs with find_rule
}

void UnwindTables::want() {
  if (wanted_) return;
  wanted_ = true;
  pb_stack_tgid = uint32_t(::getpid());
  symbols_.refresh();
  follow();
}

void UnwindTables::follow() {
  if (!wanted_) return;
  std::vector<Module*> loaded = symbols_.modules();
  if (loaded == looked_at_) return;
  std::vector<UnwindModule> modules;
  for (Module* module : loaded) {
    const UnwindTable& table = table_of(module);
    if (table.rows.empty()) continue;
    const uint64_t bias = module->bias();
    modules.push_back(
        {bias + table.first, bias + table.last, table.rows.data(), table.blocks.data()});
  }
  std::ranges::sort(modules, {}, &UnwindModule::first);
  // Two objects at one place: the list was read while one was coming.
  auto overlaps = [](const UnwindModule& a, const UnwindModule& b) { return b.first < a.last; };
  modules.erase(std::unique(modules.begin(), modules.end(), overlaps), modules.end());
  looked_at_ = std::move(loaded);
  publish(std::move(modules));
}

UnwindTables::Counts UnwindTables::counts() const {
  Counts counts;
  if (!current_) return counts;
  for (const UnwindModule& module : current_->modules) {
    const uint64_t size = module.last - module.first;
    const uint64_t blocks = (size + kUnwindBlock - 1) / kUnwindBlock + 1;
    const uint64_t rows = uint64_t{module.blocks[blocks - 1]} + 1;
    counts.modules++;
    counts.rows += rows;
    counts.bytes += rows * sizeof(UnwindRow) + blocks * sizeof(uint32_t);
    counts.text_bytes += size;
  }
  counts.made_ns = made_ns_;
  return counts;
}

}  // namespace patchbay
