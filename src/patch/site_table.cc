// SPDX-License-Identifier: MIT
//
// An open-addressing hash with one writer and any number of readers in signal handlers. A slot is
// written once, key last; growing publishes a copy and parks the old one (a reader may be in it),
// which at most doubles the memory.

#include "patch/site_table.h"

#include <deque>
#include <memory>
#include <vector>

namespace patchbay {
namespace {

struct Slot {
  std::atomic<uint64_t> key{0};
  std::atomic<Site*> site{nullptr};
};

struct Table {
  uint64_t mask;
  std::unique_ptr<Slot[]> slots;
};

std::atomic<Table*> g_table{nullptr};

// Leaked on purpose: traps may arrive while static objects are destroyed.
struct Storage {
  std::deque<Site> sites;
  std::vector<Table*> parked;
  uint64_t keys = 0;
};
Storage& storage() {
  static Storage* instance = new Storage;
  return *instance;
}

uint64_t hash(uint64_t address) { return (address * 0x9e3779b97f4a7c15ull) >> 20; }

Site* lookup(const Table* table, uint64_t address) {
  if (!table) return nullptr;
  for (uint64_t i = hash(address);; i++) {
    const Slot& slot = table->slots[i & table->mask];
    const uint64_t key = slot.key.load(std::memory_order_acquire);
    if (key == address) return slot.site.load(std::memory_order_relaxed);
    if (key == 0) return nullptr;
  }
}

void insert(Table* table, uint64_t key, Site* site) {
  for (uint64_t i = hash(key);; i++) {
    Slot& slot = table->slots[i & table->mask];
    if (slot.key.load(std::memory_order_relaxed) != 0) continue;
    slot.site.store(site, std::memory_order_relaxed);
    slot.key.store(key, std::memory_order_release);
    return;
  }
}

Table* grow(Table* old) {
  const uint64_t slots = old ? (old->mask + 1) * 2 : 1024;
  Table* bigger = new Table{slots - 1, std::make_unique<Slot[]>(slots)};
  for (Site& site : storage().sites) {
    insert(bigger, site.address, &site);
    if (site.alias) insert(bigger, site.alias, &site);
  }
  if (old) storage().parked.push_back(old);
  g_table.store(bigger, std::memory_order_release);
  return bigger;
}

// The table, or a bigger one, with room for one more key.
Table* with_room(Table* table) {
  storage().keys++;
  return !table || storage().keys * 2 > table->mask ? grow(table) : table;
}

}  // namespace

uint64_t StubRecord::continue_at(uint64_t at) const {
  for (uint8_t i = 0; i < count; i++) {
    if (offset[i] == at) return address + body + start[i];
  }
  return 0;
}

Site* site_find(uint64_t patch_address) {
  return lookup(g_table.load(std::memory_order_acquire), patch_address);
}

Site* site_find_or_add(uint64_t patch_address) {
  Table* table = g_table.load(std::memory_order_relaxed);
  if (Site* site = lookup(table, patch_address)) return site;
  table = with_room(table);
  Site& site = storage().sites.emplace_back();
  site.address = patch_address;
  insert(table, patch_address, &site);
  return &site;
}

void site_set_alias(Site* site, uint64_t alias) {
  if (site->alias == alias) return;
  Table* table = with_room(g_table.load(std::memory_order_relaxed));
  site->alias = alias;
  insert(table, alias, site);
}

StubRecord* key_record(Site* site, uint64_t target) {
  for (StubRecord* record = site->stubs; record; record = record->older) {
    if (record->address == target) return record;
  }
  auto* record = new StubRecord;
  record->address = target;
  record->original = site->address;
  record->displaced = site->displaced;
  record->older = site->stubs;
  site->stubs = record;
  return record;
}

Site* site_containing(uint64_t address) {
  const Table* table = g_table.load(std::memory_order_acquire);
  for (uint64_t distance = 0; distance < kMaxDisplaced; distance++) {
    Site* site = lookup(table, address - distance);
    if (!site || (distance && address - distance == site->alias)) continue;
    return distance == 0 || distance < site->displaced ? site : nullptr;
  }
  return nullptr;
}

namespace {
// A key is one nop: a thread that traps there goes where the jump will go, or behind the nop.
uint64_t key_target(const Site& site, const StubRecord& record, bool leaving) {
  return leaving ? site.address + site.displaced : record.address;
}
}  // namespace

uint64_t patch_trap_target(uint64_t ip) {
  const Site* site = site_containing(ip);
  if (!site) return 0;
  const uintptr_t value = site->trap.load(std::memory_order_acquire);
  const bool in_padding = ip == site->alias;
  if (value == 0) {
    if (in_padding) return site->address;
    // Trapped before the original bytes came back: run them. If int3 is what stands there, it is
    // not ours.
    return *reinterpret_cast<const volatile uint8_t*>(ip) == 0xcc ? 0 : ip;
  }
  const auto* stub = reinterpret_cast<const StubRecord*>(value & ~uintptr_t{1});
  if (site->kind == SiteKind::kKey) return key_target(*site, *stub, value & 1);
  const uint64_t at = in_padding ? 0 : ip - site->address;
  if (at == 0 && !(value & 1)) return stub->address;
  return stub->continue_at(at);
}

}  // namespace patchbay
