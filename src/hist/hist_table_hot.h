// SPDX-License-Identifier: MIT
//
// The table of a histogram as a traced thread sees it (hist_table.h has the picture).
//
//   slot     [ hash:32 | generation:12 | state:2 | 1 + entry:18 ]
//   order    the numbers of the slots, as their keys came: [ generation:32 | 1 + slot:32 ]
//   entry    [ claim ][ key ][ variables: value, set ][ texts ][ kept: hist_saves_hot.h ]
//   sums     one row for each CPU, and one for threads without rseq:
//            [ dropped … 64 bytes ][ entry 0: values ][ entry 1: values ] …
//
// Generations. Clearing raises `generation` by two; while it is odd the table takes nothing. All
// that a hit leaves behind names the generation that it began in, so a late hit does no harm: a
// slot of another generation is free, a restartable addition compares the generation once more as
// its sequence runs, an entry whose key a late hit is still writing is left alone (`claim`).
//
// Keys. A slot is pending until its number stands in `order`, which has `size` places. A hit that
// finds no place makes the slot dead, and its key is dropped. A hit that meets a pending slot of
// its key does what is left to do. So a table holds exactly `size` keys, and no hit waits.
//
// Entries. `taken` says how many were ever taken. A hit that loses the race for a key puts the
// entry that it had prepared into `spare`, where the next hit finds it. Behind `size` stand a few
// entries more, for those, and for the entries that threads took with them when they died.
#pragma once

#include <cstddef>
#include <cstdint>

namespace patchbay {

inline constexpr uint32_t kHistEntryBits = 18, kHistStateBits = 2, kHistGenerationBits = 12;
inline constexpr uint32_t kHistSpares = 16;        // places for entries that were given back
inline constexpr uint32_t kHistMoreEntries = 256;  // behind the `size` that may hold keys
inline constexpr uint32_t kHistMoreSaves = 4096;   // behind one for each entry (hist_saves_hot.h)
inline constexpr uint32_t kHistSumsAt = 8;         // words of a row before the values of entry 0
inline constexpr uint32_t kMaxHistKeyWords = 64;

// Entries that are none.
inline constexpr uint32_t kHistNone = ~0u;  // no such key
inline constexpr uint32_t kHistFull = ~1u;  // nor room for one
inline constexpr uint32_t kHistLate = ~2u;  // the table was cleared meanwhile, or takes nothing

struct HistVariableWord {
  uint64_t value;
  uint64_t set;  // atomic; 1: there is a value. Stored last, with release
};

// In memory that forked children share. The first part is written once.
struct alignas(64) HistTable {
  uint64_t* slots;    // atomic words
  uint8_t* entries;   // nr_entries of entry_size bytes
  uint8_t* sums;      // rows of row_size bytes
  uint64_t row_size;  // bytes
  uint64_t* order;    // atomic words, `size` of them
  uint32_t quantile_buckets;
  uint32_t nr_cpus;
  uint32_t slot_mask;
  uint32_t size;        // keys that it may hold
  uint32_t nr_entries;  // size + kHistMoreEntries
  uint32_t entry_size;
  uint32_t key_size;
  uint32_t nr_values;
  uint32_t nr_variables;
  uint32_t variables_at;  // in an entry
  uint32_t texts_at;
  uint32_t text_bytes;
  uint64_t* quantiles;   // atomic words; quantile_buckets for each entry; null: none
  uint64_t memory_size;  // of the mapping, which begins with `slots`
  uint8_t* saves;        // nr_saves of save_size bytes (hist_saves_hot.h); 0: none
  uint32_t nr_saves;
  uint16_t save_size;   // bytes
  uint16_t kept_at;     // in an entry: what onmax(), onchange() keep with its save
  uint32_t save_bytes;  // of the fields alone

  alignas(64) uint32_t generation;  // atomic; odd: takes nothing
  uint32_t locked_users;            // atomic; threads that add to the last row at this moment

  alignas(64) uint64_t keys;    // atomic: [ generation:32 | places of `order` that are used:32 ]
  uint64_t taken;               // atomic: [ generation:32 | entries that were ever taken:32 ]
  uint64_t spare[kHistSpares];  // atomic: [ generation:32 | 1 + entry:32 ], 0: empty

  alignas(64) uint64_t free_saves;  // atomic: hist_saves_hot.cc
  uint64_t taken_saves;             // atomic: [ generation:32 | saves that were ever taken:32 ]
};

// A key while it is looked for. Only its first `used` words are there: what stands behind is 0, and
// the last of them is 0 too or holds the NUL of a text, unless all are used.
struct HistKey {
  const uint64_t* word;
  uint32_t used, size;  // words
};

// Words of 0 add nothing, so that it does not matter how many are used.
struct HistMultipliers {
  uint64_t of[kMaxHistKeyWords];
};
constexpr HistMultipliers make_hist_multipliers() {
  HistMultipliers made{};
  uint64_t state = 0x243f6a8885a308d3;
  for (uint64_t& one : made.of) {
    state += 0x9e3779b97f4a7c15;
    uint64_t mixed = (state ^ state >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    one = (mixed ^ mixed >> 31) | 1;
  }
  return made;
}
inline constexpr HistMultipliers kHistMultipliers = make_hist_multipliers();

inline constexpr uint64_t kHistHashMultiplier = 0xd6e8feb86659fd93;

inline uint32_t hist_hash_sum(uint64_t sum) {
  sum = (sum ^ sum >> 32) * kHistHashMultiplier;
  return uint32_t(sum >> 32);
}
inline uint32_t hist_hash(const HistKey& key) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < key.used; i++) sum += key.word[i] * kHistMultipliers.of[i];
  return hist_hash_sum(sum);
}
// The same for a key of one word.
inline uint32_t hist_hash(uint64_t word) { return hist_hash_sum(word * kHistMultipliers.of[0]); }

inline constexpr uint64_t kHistEntryMask = (uint64_t{1} << kHistEntryBits) - 1;
inline constexpr uint32_t kHistTagShift = kHistEntryBits + kHistStateBits;
inline constexpr uint64_t kHistTagMask = 0xffffffff & ~((uint64_t{1} << kHistTagShift) - 1);
inline constexpr uint64_t kHistValid = uint64_t{1} << kHistEntryBits;
inline constexpr uint64_t kHistPending = uint64_t{2} << kHistEntryBits;
inline constexpr uint64_t kHistDead = uint64_t{3} << kHistEntryBits;

// Hash and generation of a slot.
inline uint64_t hist_tag(uint32_t hash, uint32_t generation) {
  return uint64_t{hash} << 32 | uint32_t(generation << (kHistTagShift - 1));  // which is even
}

inline uint8_t* hist_entry(const HistTable* table, uint32_t entry) {
  return table->entries + uint64_t{entry} * table->entry_size;
}
inline uint64_t* hist_key_of(const HistTable* table, uint32_t entry) {
  return reinterpret_cast<uint64_t*>(hist_entry(table, entry) + sizeof(uint64_t));
}
inline HistVariableWord* hist_variable(const HistTable* table, uint32_t entry, uint32_t index) {
  return reinterpret_cast<HistVariableWord*>(hist_entry(table, entry) + table->variables_at) +
         index;
}
inline uint8_t* hist_text(const HistTable* table, uint32_t entry, uint32_t offset) {
  return hist_entry(table, entry) + table->texts_at + offset;
}

inline bool hist_same_key(const uint64_t* kept, const HistKey& key) {
  if (key.used < key.size && kept[key.used]) return false;
  for (uint64_t i = key.used; i; i--)
    if (kept[i - 1] != key.word[i - 1]) return false;
  return true;
}

// Even: the generation that a hit begins in. Odd: nothing is taken.
inline uint32_t hist_generation(const HistTable* table) {
  return __atomic_load_n(&table->generation, __ATOMIC_ACQUIRE);
}

// The entry of a key, or kHistNone. Lock-free and bounded. `is_same` looks at a key that is there.
// A slot that is pending is for hist_insert().
template <typename IsSame>
inline uint32_t hist_search(const HistTable* table, uint32_t hash, uint32_t generation,
                            IsSame is_same) {
  const uint64_t wanted = hist_tag(hash, generation) | kHistValid;
  for (uint32_t at = hash & table->slot_mask, i = 0; i <= table->slot_mask; i++) {
    // Pairs with the exchanges in hist_insert().
    const uint64_t slot = __atomic_load_n(&table->slots[at], __ATOMIC_ACQUIRE);
    const uint64_t different = slot ^ wanted;  // of the slot that is wanted: its number
    if (different <= kHistEntryMask && is_same(hist_key_of(table, uint32_t(different) - 1)))
      return uint32_t(different) - 1;
    if (!(slot & kHistEntryMask) || different & kHistTagMask) return kHistNone;
    at = (at + 1) & table->slot_mask;
  }
  return kHistNone;
}
inline uint32_t hist_find(const HistTable* table, const HistKey& key, uint32_t hash,
                          uint32_t generation) {
  return hist_search(table, hash, generation,
                     [&](const uint64_t* kept) { return hist_same_key(kept, key); });
}
// The same for a key of one word.
inline uint32_t hist_find(const HistTable* table, uint64_t word, uint32_t hash,
                          uint32_t generation) {
  return hist_search(table, hash, generation, [&](const uint64_t* kept) { return *kept == word; });
}

// The same, and makes one: kHistFull, kHistLate. Lock-free; a handler may interrupt it anywhere and
// insert the same key.
uint32_t hist_insert(HistTable* table, const HistKey& key, uint32_t hash, uint32_t generation);

extern "C" {
// The word at this offset in the row of this CPU += value. False: the generation is over. The sum
// is exact whatever interrupts the addition (hist_add.S).
bool hist_add(HistTable* table, uint64_t offset, uint64_t value, uint32_t generation);
}

inline uint64_t hist_sum_at(const HistTable* table, uint32_t entry, uint32_t value) {
  return (kHistSumsAt + uint64_t{entry} * table->nr_values + value) * sizeof(uint64_t);
}
inline void hist_drop(HistTable* table, uint32_t generation) { hist_add(table, 0, 1, generation); }

inline void hist_count_quantile(HistTable* table, uint32_t entry, uint32_t bucket) {
  __atomic_fetch_add(&table->quantiles[uint64_t{entry} * table->quantile_buckets + bucket], 1,
                     __ATOMIC_RELAXED);
}

inline void hist_set_variable(HistVariableWord* variable, uint64_t value) {
  __atomic_store_n(&variable->value, value, __ATOMIC_RELAXED);
  __atomic_store_n(&variable->set, 1, __ATOMIC_RELEASE);  // pairs with the next one
}
inline bool hist_read_variable(const HistVariableWord* variable, uint64_t* value) {
  if (!__atomic_load_n(&variable->set, __ATOMIC_ACQUIRE)) return false;
  *value = __atomic_load_n(&variable->value, __ATOMIC_RELAXED);
  return true;
}
// Of all readers that read it once, one gets it.
inline bool hist_take_variable(HistVariableWord* variable, uint64_t* value) {
  if (!hist_read_variable(variable, value)) return false;
  return __atomic_exchange_n(&variable->set, 0, __ATOMIC_ACQ_REL) != 0;
}

}  // namespace patchbay
