// SPDX-License-Identifier: MIT
//
// How a key gets its entry:
//
//   /*A*/ a free slot is found, no equal key before it
//   /*B*/ an entry is taken
//   /*C*/ its key is written, its variables are not set; one key more in `pool`, or it is full
//   /*D*/ one exchange of the slot makes it visible   ── lost: one key less, the slot is looked at
//                                                        again; against an equal key the entry is
//                                                        given back
//
// Whoever looks for the same key meets the same free slot, since none becomes free again in its
// generation; so of two entries with one key only one is ever visible.
#include "hist/hist_table_hot.h"

namespace patchbay {

namespace {

constexpr uint64_t kCountMask = (1 << 24) - 1;
constexpr uint64_t kOneKey = 1 << 24, kOneTaken = 1;
constexpr uint32_t kBeingWritten = 1;
constexpr uint32_t kFullTries = 64;

uint32_t* claim_of(const HistTable* table, uint32_t entry) {
  return reinterpret_cast<uint32_t*>(hist_entry(table, entry));
}

// False: somebody who began before the last clear is still at it.
bool claim(const HistTable* table, uint32_t entry, uint32_t generation) {
  uint32_t* word = claim_of(table, entry);
  uint32_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
  if (seen & kBeingWritten) return false;
  return __atomic_compare_exchange_n(word, &seen, generation | kBeingWritten, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void written(const HistTable* table, uint32_t entry, uint32_t generation) {
  __atomic_store_n(claim_of(table, entry), generation, __ATOMIC_RELEASE);
}

// kHistNone: there is none.
uint32_t take_spare(HistTable* table, uint32_t generation) {
  for (uint64_t& place : table->spare) {
    uint64_t seen = __atomic_load_n(&place, __ATOMIC_RELAXED);
    if (seen >> 32 != generation || !uint32_t(seen)) continue;
    if (__atomic_compare_exchange_n(&place, &seen, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return uint32_t(seen) - 1;
  }
  return kHistNone;
}

// Where no place is empty the entry is lost: more than kHistSpares threads have lost a race at one
// moment, and there are kHistMoreEntries.
void put_spare(HistTable* table, uint32_t entry, uint32_t generation) {
  for (uint64_t& place : table->spare) {
    uint64_t seen = __atomic_load_n(&place, __ATOMIC_RELAXED);
    if (seen >> 32 == generation) continue;
    if (hist_generation(table) != generation) return;
    if (__atomic_compare_exchange_n(&place, &seen, uint64_t{generation} << 32 | (entry + 1), false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return;
  }
}

// An entry that is the caller's alone; kHistFull, kHistLate.
uint32_t take_entry(HistTable* table, uint32_t generation) {
  const uint32_t spare = take_spare(table, generation);
  if (spare != kHistNone && claim(table, spare, generation)) return spare;
  for (;;) {
    uint64_t seen = __atomic_load_n(&table->pool, __ATOMIC_RELAXED);
    do {
      if (seen >> 48 != uint16_t(generation)) return kHistLate;
      if ((seen & kCountMask) >= table->nr_entries) return kHistFull;
    } while (!__atomic_compare_exchange_n(&table->pool, &seen, seen + kOneTaken, true,
                                          __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    const auto entry = uint32_t(seen & kCountMask);
    if (claim(table, entry, generation)) return entry;  // else one fewer each time around
  }
}

void give_back(HistTable* table, uint32_t entry, uint32_t generation) {
  written(table, entry, generation);
  put_spare(table, entry, generation);
}

bool is_full(const HistTable* table) {
  const uint64_t pool = __atomic_load_n(&table->pool, __ATOMIC_SEQ_CST);
  return (pool >> 24 & kCountMask) >= table->size;
}

// One key more, before it is made visible; kHistNone on success.
uint32_t add_key(HistTable* table, uint32_t generation) {
  __atomic_fetch_add(&table->tentative, 1, __ATOMIC_SEQ_CST);
  uint64_t seen = __atomic_load_n(&table->pool, __ATOMIC_RELAXED);
  uint32_t failed = kHistNone;
  do {
    if (seen >> 48 != uint16_t(generation))
      failed = kHistLate;
    else if ((seen >> 24 & kCountMask) >= table->size)
      failed = kHistFull;
  } while (failed == kHistNone &&
           !__atomic_compare_exchange_n(&table->pool, &seen, seen + kOneKey, true, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED));
  if (failed != kHistNone) __atomic_fetch_sub(&table->tentative, 1, __ATOMIC_SEQ_CST);
  return failed;
}

// The key is visible, or somebody else's is: then it is one less.
void settle_key(HistTable* table, uint32_t generation, bool visible) {
  if (!visible) {
    uint64_t seen = __atomic_load_n(&table->pool, __ATOMIC_RELAXED);
    while (seen >> 48 == uint16_t(generation) &&
           !__atomic_compare_exchange_n(&table->pool, &seen, seen - kOneKey, true, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED)) {
    }
  }
  __atomic_fetch_sub(&table->tentative, 1, __ATOMIC_SEQ_CST);
}

void write_key(const HistTable* table, uint32_t entry, const HistKey& key) {
  uint64_t* out = hist_key_of(table, entry);
  for (uint32_t p = 0; p < key.nr_parts; p++) {
    const HistKeyPart& part = key.part[p];
    for (uint32_t i = 0; i < part.size; i++)
      out[part.first + i] = i < part.used ? key.word[part.first + i] : 0;
  }
  for (uint32_t i = 0; i < table->nr_variables; i++) {
    HistVariableWord* variable = hist_variable(table, entry, i);
    variable->value = 0;
    variable->set = 0;
  }
}

// What one look at a slot says.
enum class Slot { kFree, kOther, kSame };
inline Slot look(const HistTable* table, uint64_t slot, uint64_t wanted, const HistKey& key) {
  const uint64_t number = slot & kHistEntryMask;
  if (!number || (slot ^ wanted) & kHistTagMask) return Slot::kFree;
  if ((slot ^ wanted) >> 32) return Slot::kOther;
  const uint64_t* kept = hist_key_of(table, uint32_t(number) - 1);
  return hist_same_key(kept, key) ? Slot::kSame : Slot::kOther;
}

}  // namespace

namespace {

// /*B*/ … /*D*/ of one free slot. kHistNone: it is not free any more, look at it again.
uint32_t fill_slot(HistTable* table, const HistKey& key, uint64_t wanted, uint32_t generation,
                   uint64_t* word, uint64_t slot, uint32_t* mine) {
  if (*mine == kHistNone) {
    const uint32_t taken = take_entry(table, generation); /*B*/
    if (taken >= kHistLate) return taken;
    *mine = taken;
    write_key(table, taken, key); /*C*/
  }
  const uint32_t failed = add_key(table, generation);
  if (failed != kHistNone) return failed;
  const bool visible = __atomic_compare_exchange_n(word, &slot, wanted | (*mine + 1), false,
                                                   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE); /*D*/
  settle_key(table, generation, visible);
  if (!visible) return kHistNone;
  const uint32_t entry = *mine;
  written(table, entry, generation);
  *mine = kHistNone;
  return entry;
}

// Where the last keys are being made visible by others, one of them may yet be one less.
bool stays_full(const HistTable* table, uint32_t* tries) {
  if (!__atomic_load_n(&table->tentative, __ATOMIC_SEQ_CST) || ++*tries > kFullTries)
    return is_full(table);
  __builtin_ia32_pause();
  return false;
}

}  // namespace

uint32_t hist_insert(HistTable* table, const HistKey& key, uint32_t hash, uint32_t generation) {
  const uint64_t wanted = uint64_t{hash} << 32 | hist_tag(generation);
  uint32_t mine = kHistNone, entry = kHistNone, tries = 0;
  uint32_t at = hash & table->slot_mask;
  for (uint32_t i = 0; i <= table->slot_mask && entry == kHistNone;) {
    const uint64_t slot = __atomic_load_n(&table->slots[at], __ATOMIC_ACQUIRE);
    const Slot seen = look(table, slot, wanted, key);
    if (seen == Slot::kSame) {
      entry = uint32_t(slot & kHistEntryMask) - 1;
    } else if (seen == Slot::kOther) {
      i++;
      at = (at + 1) & table->slot_mask;
    } else if (hist_generation(table) != generation) { /*A*/
      entry = kHistLate;
    } else if (!is_full(table)) {
      entry = fill_slot(table, key, wanted, generation, &table->slots[at], slot, &mine);
      if (entry == kHistFull && !stays_full(table, &tries)) entry = kHistNone;
    } else if (stays_full(table, &tries)) {
      entry = kHistFull;
    }
  }
  if (mine != kHistNone) give_back(table, mine, generation);
  return entry == kHistNone ? kHistFull : entry;
}

}  // namespace patchbay
