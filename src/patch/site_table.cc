// SPDX-License-Identifier: MIT
//
// An open-addressing hash with one writer and any number of readers in signal handlers. A slot is
// written once, key last; growing publishes a copy and parks the old one (a reader may be in it),
// which at most doubles the memory.

#include "patch/site_table.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <vector>

#include "arch/x86_64/decoder.h"
#include "base/paged_list.h"

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

constexpr uint64_t kBlock = 64 << 10;
constexpr uint64_t kBitPage = 4096;

// A bit for each address of a page that is a key of the table.
struct KeyBits {
  uint64_t word[kBitPage / 64] = {};
};

// Leaked on purpose: traps may arrive while static objects are destroyed.
struct Storage {
  PagedList<Site> sites;
  PagedList<StubRecord> key_records;
  std::vector<Table*> parked;
  uint64_t keys = 0;
  std::unordered_map<uint64_t, std::vector<Site*>> blocks;  // by address / kBlock
  std::unordered_map<uint64_t, KeyBits> bits;               // by address / kBitPage
  // The page that was looked at last: neighbours come one after the other.
  uint64_t last_page = ~uint64_t{0};
  KeyBits* last_bits = nullptr;
};
Storage& storage() {
  static Storage* instance = new Storage;
  return *instance;
}

// Null: no key is in this page.
KeyBits* bits_of(uint64_t page) {
  Storage& all = storage();
  if (all.last_page == page) return all.last_bits;
  const auto found = all.bits.find(page);
  all.last_page = page;
  return all.last_bits = found == all.bits.end() ? nullptr : &found->second;
}

void mark_key(uint64_t key) {
  Storage& all = storage();
  const uint64_t page = key / kBitPage;
  KeyBits* bits = bits_of(page);
  if (!bits) bits = all.last_bits = &all.bits[page];
  bits->word[key % kBitPage / 64] |= uint64_t{1} << (key % 64);
}

// Neighbours stand together: a search for a site looks at the bytes around it too.
uint64_t hash(uint64_t address) { return (address / 32 * 0x9e3779b97f4a7c15ull) >> 20; }

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
    if (offset[i] == at) return address + start[i];
  }
  return 0;
}

Site* site_find(uint64_t patch_address) {
  return lookup(g_table.load(std::memory_order_acquire), patch_address);
}

void site_fetch_ahead(uint64_t patch_address) {
  if (const Table* table = g_table.load(std::memory_order_relaxed))
    __builtin_prefetch(&table->slots[hash(patch_address) & table->mask]);
}

Site* site_find_or_add(uint64_t patch_address) {
  Table* table = g_table.load(std::memory_order_relaxed);
  if (Site* site = lookup(table, patch_address)) return site;
  table = with_room(table);
  Site& site = storage().sites.emplace_back();
  site.address = patch_address;
  storage().blocks[patch_address / kBlock].push_back(&site);
  mark_key(patch_address);
  insert(table, patch_address, &site);
  return &site;
}

uint64_t sites_around(uint64_t address) {
  const uint64_t first = address - 32, shift = first % 64;
  const auto word = [](uint64_t at) {
    const KeyBits* bits = bits_of(at / kBitPage);
    return bits ? bits->word[at % kBitPage / 64] : 0;
  };
  const uint64_t low = word(first);
  return shift ? low >> shift | word(first + 64) << (64 - shift) : low;
}

std::vector<Site*> sites_between(uint64_t start, uint64_t end) {
  std::vector<Site*> found;
  const auto& blocks = storage().blocks;
  const auto take = [&](const std::vector<Site*>& sites) {
    for (Site* site : sites)
      if (site->address >= start && site->address < end) found.push_back(site);
  };
  if ((end - start) / kBlock > blocks.size()) {
    for (const auto& [block, sites] : blocks) take(sites);
    return found;
  }
  for (uint64_t block = start / kBlock; block * kBlock < end; block++) {
    auto sites = blocks.find(block);
    if (sites != blocks.end()) take(sites->second);
  }
  return found;
}

void visit_sites(const std::function<void(Site*)>& visit) {
  for (Site& site : storage().sites) visit(&site);
}

void site_set_alias(Site* site, uint64_t alias) {
  if (site->alias == alias) return;
  Table* table = with_room(g_table.load(std::memory_order_relaxed));
  site->alias = alias;
  mark_key(alias);
  insert(table, alias, site);
}

StubRecord* key_record(Site* site, uint64_t target) {
  for (StubRecord* record = site->stubs; record; record = record->older) {
    if (record->address == target) return record;
  }
  StubRecord* const record = &storage().key_records.emplace_back();
  record->address = target;
  record->original = site->address;
  record->displaced = site->displaced;
  record->older = site->stubs;
  site->stubs = record;
  return record;
}

bool site_near(uint64_t address, uint64_t size) {
  constexpr uint64_t kLongestJump = 5;
  const uint64_t around = sites_around(address) >> (32 - (kLongestJump - 1));
  return around & ((uint64_t{1} << (kLongestJump - 1 + std::min<uint64_t>(size, 31))) - 1);
}

uint8_t first_length(const Site& site) {
  if (site.boundary_count > 1) return site.boundary[1];
  Insn insn;
  if (!decode_insn(site.original, kMaxDisplaced, site.address, &insn)) return site.displaced;
  return std::min(insn.length, site.displaced);
}

namespace {

// Calls visit(site) for every site whose displaced bytes hold the address, or whose alias it is,
// nearest first, until it returns true.
template <typename Visit>
void visit_around(uint64_t address, Visit visit) {
  const Table* table = g_table.load(std::memory_order_acquire);
  for (uint64_t distance = 0; distance < kMaxDisplaced; distance++) {
    Site* site = lookup(table, address - distance);
    if (!site || (distance && address - distance == site->alias)) continue;
    if (distance && distance >= site->displaced) continue;
    if (visit(site)) return;
  }
}

// Where a thread goes on that trapped at `ip`, of which the site knows; 0: it does not.
uint64_t target_in(const Site& site, uint64_t ip) {
  const uintptr_t value = site.trap.load(std::memory_order_acquire);
  const bool in_padding = ip == site.alias;
  if (value == 0) return in_padding ? site.address : 0;
  const auto* stub = reinterpret_cast<const StubRecord*>(value & ~uintptr_t{1});
  const bool leaving = value & 1;
  // A key is one nop: a thread that traps there goes where the jump will go, or behind the nop.
  if (stub->is_key()) return leaving ? site.address + site.displaced : stub->address;
  const uint64_t at = in_padding ? 0 : ip - site.address;
  return at == 0 && !leaving ? stub->address : stub->continue_at(at);
}

}  // namespace

const Site* watched_around(uint64_t address) {
  const Site* found = nullptr;
  visit_around(address, [&](const Site* site) {
    if (site->watched && address != site->address) found = site;
    return found != nullptr;
  });
  return found;
}

uint64_t patch_resume_ip(uint64_t ip) {
  uint64_t target = 0;
  visit_around(ip, [&](const Site* site) {
    const uintptr_t value = site->trap.load(std::memory_order_acquire);
    const auto* stub = reinterpret_cast<const StubRecord*>(value & ~uintptr_t{1});
    if (stub && !(value & 1) && ip > site->address && ip != site->alias)
      target = stub->continue_at(ip - site->address);
    return target != 0;
  });
  return target ? target : ip;
}

bool padding_place(uint64_t ip, StubPlace* place) {
  const Site* site = site_find(ip);
  if (!site || site->alias != ip) return false;
  *place = {site->address, 0, false};
  return true;
}

uint64_t patch_trap_target(uint64_t ip) {
  // Between our two looks the place may have been patched again: the next round sees it.
  constexpr int kRounds = 100;
  for (int round = 0; round < kRounds; round++) {
    bool known = false;
    uint64_t target = 0;
    visit_around(ip, [&](const Site* site) {
      known = true;
      target = target_in(*site, ip);
      return target != 0;
    });
    if (target || !known) return target;
    // Trapped before the original bytes came back: run them. If int3 is what stands there all the
    // time, it is not ours.
    const uint8_t now = *reinterpret_cast<const volatile uint8_t*>(ip);
    if (now != kTrapInt3 && now != kTrapHalt) return ip;
  }
  return 0;
}

uint64_t patch_halt_target(uint64_t ip, bool again) {
  if (*reinterpret_cast<const volatile uint8_t*>(ip) == kTrapHalt) return patch_trap_target(ip);
  if (again) return 0;
  bool known = false;
  visit_around(ip, [&](const Site*) { return known = true; });
  return known ? ip : 0;
}

}  // namespace patchbay
