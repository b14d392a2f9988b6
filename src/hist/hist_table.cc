// SPDX-License-Identifier: MIT
//
// The memory of a table: one shared mapping, of which only what is used takes pages.
//
//   slots | order | sums | quantiles | entries | saves    each begins with a page
//
// Clearing punches all but the last two out; entries and saves are written anew when they are
// taken. A table that is retired gives all of its pages back. Its mapping stays, for threads that
// are late, and serves a later table of the same shape: forked children meet their own HistTable,
// which takes nothing.
#include "hist/hist_table.h"

#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

#include "base/agreed.h"
#include "base/shared_memory.h"
#include "hist/hist_saves_hot.h"
#include "hist/hist_table_hot.h"

namespace patchbay {

namespace {

constexpr uint64_t kPage = 4096;
constexpr auto kParked = std::chrono::seconds(2);           // before memory serves another table
constexpr auto kSequence = std::chrono::microseconds(200);  // no restartable sequence is as long
constexpr int kLockedWaits = 500;

uint64_t pages(uint64_t bytes) { return (bytes + kPage - 1) & ~(kPage - 1); }

bool operator==(const HistShape& a, const HistShape& b) {
  return a.bits == b.bits && a.key_size == b.key_size && a.nr_values == b.nr_values &&
         a.nr_variables == b.nr_variables && a.text_bytes == b.text_bytes &&
         a.quantile_buckets == b.quantile_buckets && a.save_bytes == b.save_bytes &&
         a.nr_cpus == b.nr_cpus;
}

struct Parked {
  HistShape shape;
  uint8_t* memory;
  uint32_t generation;
  std::chrono::steady_clock::time_point since;
};

std::mutex g_lock;
// Never freed, since threads may run to the very end of the process. Made at the first call, since
// the agent's constructor may run before those of this file.
std::vector<Parked>& parked_tables() {
  static auto& all = *new std::vector<Parked>;
  return all;
}
std::vector<std::pair<const HistTable*, HistShape>>& all_shapes() {
  static auto& all = *new std::vector<std::pair<const HistTable*, HistShape>>;
  return all;
}

// What the parts of a table take, from its shape.
struct Layout {
  uint64_t slots, order, sums, quantiles, entries, saves;  // bytes
  uint64_t whole() const { return slots + order + sums + quantiles + entries + saves; }
};

// What is kept is exchanged, 16 bytes at once.
void lay_out_saves(uint32_t bytes, HistTable* table) {
  constexpr uint32_t kPair = sizeof(HistKept);
  const uint32_t kept_at = (table->entry_size + kPair - 1) & ~(kPair - 1);
  table->kept_at = uint16_t(kept_at);
  table->save_bytes = bytes;
  table->entry_size = kept_at + kPair;
  table->nr_saves = table->nr_entries + kHistMoreSaves;
  table->save_size = uint16_t((kHistSaveHead + bytes + kPair - 1) & ~(kPair - 1));
}

Layout lay_out(const HistShape& shape, HistTable* table) {
  table->size = 1u << shape.bits;
  table->slot_mask = 2 * table->size - 1;
  table->nr_entries = table->size + kHistMoreEntries;
  table->key_size = shape.key_size;
  table->nr_values = shape.nr_values;
  table->nr_variables = shape.nr_variables;
  table->nr_cpus = shape.nr_cpus;
  table->quantile_buckets = shape.quantile_buckets;
  table->variables_at = uint32_t(sizeof(uint64_t)) + shape.key_size;
  table->texts_at = table->variables_at + shape.nr_variables * uint32_t(sizeof(HistVariableWord));
  table->text_bytes = shape.text_bytes;
  table->entry_size = (table->texts_at + shape.text_bytes + 7) & ~7u;
  if (shape.save_bytes) lay_out_saves(shape.save_bytes, table);
  const uint64_t sums = kHistSumsAt + uint64_t{table->nr_entries} * shape.nr_values;
  table->row_size = (sums * sizeof(uint64_t) + 63) & ~uint64_t{63};
  Layout made;
  made.slots = pages((uint64_t{table->slot_mask} + 1) * sizeof(uint64_t));
  made.order = pages(uint64_t{table->size} * sizeof(uint64_t));
  made.sums = pages(table->row_size * (uint64_t{shape.nr_cpus} + 1));
  made.quantiles = pages(uint64_t{table->nr_entries} * shape.quantile_buckets * sizeof(uint64_t));
  made.entries = pages(uint64_t{table->nr_entries} * table->entry_size);
  made.saves = pages(uint64_t{table->nr_saves} * table->save_size);
  return made;
}

// Memory of a table of the same shape that has been out of use for long enough.
bool take_parked(const HistShape& shape, Parked* found) {
  const auto now = std::chrono::steady_clock::now();
  for (Parked& one : parked_tables()) {
    if (!(one.shape == shape) || now - one.since < kParked) continue;
    *found = one;
    one = parked_tables().back();
    parked_tables().pop_back();
    return true;
  }
  return false;
}

void zero_pages(uint8_t* at, uint64_t size) {
  if (size && ::madvise(at, size, MADV_REMOVE) != 0) std::memset(at, 0, size);
}

// Without this system call the pause that follows has to do.
void restart_sequences() {
  if (::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, 0, 0) == 0) return;
  ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0);
  ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, 0, 0);
}

// When it returns the table takes nothing any more, and no thread is adding to it.
uint32_t close_table(HistTable* table) {
  const uint32_t generation = __atomic_load_n(&table->generation, __ATOMIC_RELAXED) | 1;
  __atomic_store_n(&table->generation, generation, __ATOMIC_SEQ_CST);
  restart_sequences();
  std::this_thread::sleep_for(kSequence);  // for forked children
  for (int i = 0; i < kLockedWaits; i++) {
    if (!__atomic_load_n(&table->locked_users, __ATOMIC_SEQ_CST)) break;
    std::this_thread::sleep_for(kSequence);
  }
  return generation;
}

void open_table(HistTable* table, uint32_t generation) {
  for (uint64_t& spare : table->spare) __atomic_store_n(&spare, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&table->keys, uint64_t{generation} << 32, __ATOMIC_RELAXED);
  __atomic_store_n(&table->taken, uint64_t{generation} << 32, __ATOMIC_RELAXED);
  __atomic_store_n(&table->taken_saves, uint64_t{generation} << 32, __ATOMIC_RELAXED);
  __atomic_store_n(&table->free_saves, hist_fresh_mark(generation), __ATOMIC_RELAXED);
  __atomic_store_n(&table->generation, generation, __ATOMIC_SEQ_CST);
}

// 0 marks words that were never written.
uint32_t next_generation(uint32_t closed) { return closed + 1 ? closed + 1 : 2; }

uint8_t* memory_of(const HistTable* table) { return reinterpret_cast<uint8_t*>(table->slots); }

uint64_t sum_of(const HistTable* table, uint64_t offset) {
  uint64_t sum = 0;
  for (uint64_t row = 0; row <= table->nr_cpus; row++)
    sum += __atomic_load_n(
        reinterpret_cast<const uint64_t*>(table->sums + row * table->row_size + offset),
        __ATOMIC_RELAXED);
  return sum;
}

}  // namespace

// A forked child that repeats a definition has the table of its parent. It is noted when its memory
// is there in children too.
Result<HistTable*> make_hist_table(const HistShape& shape) {
  const uint64_t key = note_key("hist table");
  if (is_forked_child()) {
    const auto address = noted(key);
    if (!address) return sys_error("the histogram of the parent", ENOMEM);
    return reinterpret_cast<HistTable*>(*address);
  }
  auto* table = make_shared_forever<HistTable>();
  const Layout layout = lay_out(shape, table);
  table->memory_size = layout.whole();
  std::lock_guard guard(g_lock);
  Parked found{shape, nullptr, 1, {}};
  if (!take_parked(shape, &found))
    found.memory = static_cast<uint8_t*>(shared_pages(layout.whole()));
  if (!found.memory) return sys_error("memory for a histogram", ENOMEM);
  table->slots = reinterpret_cast<uint64_t*>(found.memory);
  table->order = reinterpret_cast<uint64_t*>(found.memory + layout.slots);
  table->sums = found.memory + layout.slots + layout.order;
  if (shape.quantile_buckets)
    table->quantiles = reinterpret_cast<uint64_t*>(table->sums + layout.sums);
  table->entries = table->sums + layout.sums + layout.quantiles;
  table->saves = table->entries + layout.entries;
  all_shapes().emplace_back(table, shape);
  open_table(table, next_generation(found.generation));
  if (is_shared_with_running(table) && is_shared_with_running(found.memory))
    note(key, reinterpret_cast<uint64_t>(table));
  return table;
}

void retire_hist_table(HistTable* table) {
  if (is_forked_child()) return;
  std::lock_guard guard(g_lock);
  const uint32_t generation = close_table(table);
  zero_pages(memory_of(table), table->memory_size);
  for (auto& one : all_shapes()) {
    if (one.first != table) continue;
    parked_tables().push_back(
        {one.second, memory_of(table), generation, std::chrono::steady_clock::now()});
    one = all_shapes().back();
    all_shapes().pop_back();
    return;
  }
}

void clear_hist_table(HistTable* table) {
  if (is_forked_child()) return;
  std::lock_guard guard(g_lock);
  const uint32_t generation = close_table(table);
  zero_pages(memory_of(table), uint64_t(table->entries - memory_of(table)));
  open_table(table, next_generation(generation));
}

std::vector<HistEntry> read_hist_table(const HistTable* table, HistTotals* totals) {
  std::vector<HistEntry> entries;
  const uint32_t generation = hist_generation(table);
  *totals = {};
  if (generation & 1) return entries;
  // All places that are used, and the slots in them, are of this generation, or there was a clear.
  const auto used = uint32_t(__atomic_load_n(&table->keys, __ATOMIC_ACQUIRE));
  entries.reserve(used);
  for (uint32_t k = 0; k < used; k++) {
    const uint64_t place = __atomic_load_n(&table->order[k], __ATOMIC_ACQUIRE);
    if (place >> 32 != generation) continue;
    const uint64_t slot = __atomic_load_n(&table->slots[uint32_t(place) - 1], __ATOMIC_ACQUIRE);
    const auto number = uint32_t(slot & kHistEntryMask);
    if (!number) continue;
    HistEntry entry{nullptr, number - 1, std::vector<uint64_t>(table->nr_values)};
    entry.key = reinterpret_cast<const uint8_t*>(hist_key_of(table, entry.index));
    for (uint32_t i = 0; i < table->nr_values; i++)
      entry.values[i] = sum_of(table, hist_sum_at(table, entry.index, i));
    totals->hits += entry.values[0];
    entries.push_back(std::move(entry));
  }
  totals->entries = entries.size();
  totals->dropped = sum_of(table, 0);
  return entries;
}

uint64_t count_hist_hits(const HistTable* table) {
  const uint64_t taken = __atomic_load_n(&table->taken, __ATOMIC_ACQUIRE);
  if (hist_generation(table) & 1) return 0;
  uint64_t hits = 0;
  for (uint32_t entry = 0; entry < uint32_t(taken); entry++)
    hits += sum_of(table, hist_sum_at(table, entry, 0));
  return hits;
}

bool read_hist_variable(const HistTable* table, uint32_t entry, uint32_t variable,
                        uint64_t* value) {
  return hist_read_variable(hist_variable(table, entry, variable), value);
}

std::vector<uint64_t> read_hist_quantiles(const HistTable* table, uint32_t entry) {
  std::vector<uint64_t> counts(table->quantile_buckets);
  const uint64_t* first = table->quantiles + uint64_t{entry} * table->quantile_buckets;
  for (size_t i = 0; i < counts.size(); i++)
    counts[i] = __atomic_load_n(first + i, __ATOMIC_RELAXED);
  return counts;
}

const uint8_t* hist_text_at(const HistTable* table, uint32_t entry, uint32_t offset) {
  return hist_text(table, entry, offset);
}

}  // namespace patchbay
