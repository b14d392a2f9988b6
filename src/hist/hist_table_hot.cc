// SPDX-License-Identifier: MIT
//
// How a key gets its entry:
//
//   /*A*/ a free slot is found, no equal key before it; the table is not full
//   /*B*/ an entry is taken, its key is written, its variables are not set
//   /*C*/ one exchange makes the slot pending. Lost: the slot is looked at again; against an equal
//         key the entry is given back
//   /*D*/ the slot's number is put into the first free place of `order`: an exchange
//   /*E*/ the slot becomes valid
//   /*F*/ `keys` is one more
//
// All hits that look for one key meet the same slot, since no slot becomes free again in its
// generation. So of two entries with one key only one is ever seen. Any hit may do D, E and F for
// any other. No hit goes on to place k before the slot in place k - 1 is valid; so a slot that is
// still pending then stands in none of the places before k, and comes into no second one. When all
// places are used, every slot that is still pending becomes dead.
#include "hist/hist_table_hot.h"

#include "hist/hist_saves_hot.h"

namespace patchbay {

namespace {

constexpr uint32_t kBeingWritten = 1;

// --- words that name their generation

inline uint64_t stamped(uint32_t generation, uint32_t value) {
  return uint64_t{generation} << 32 | value;
}
inline bool is_of(uint64_t word, uint32_t generation) { return word >> 32 == generation; }

inline bool exchange(uint64_t* word, uint64_t* seen, uint64_t wanted) {
  return __atomic_compare_exchange_n(word, seen, wanted, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

// --- entries

uint32_t* claim_of(const HistTable* table, uint32_t entry) {
  return reinterpret_cast<uint32_t*>(hist_entry(table, entry));
}

// False: a hit that began before the last clear still writes the entry, or the caller began then.
bool claim(const HistTable* table, uint32_t entry, uint32_t generation) {
  uint32_t* word = claim_of(table, entry);
  uint32_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
  if (seen & kBeingWritten || int32_t(seen - generation) > 0) return false;
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
    if (is_of(seen, generation) && exchange(&place, &seen, 0)) return uint32_t(seen) - 1;
  }
  return kHistNone;
}

// Where no place is empty the entry is lost: more than kHistSpares threads have lost a race at one
// moment, and there are kHistMoreEntries.
void put_spare(HistTable* table, uint32_t entry, uint32_t generation) {
  for (uint64_t& place : table->spare) {
    uint64_t seen = __atomic_load_n(&place, __ATOMIC_RELAXED);
    if (is_of(seen, generation)) continue;
    if (hist_generation(table) != generation) return;
    if (exchange(&place, &seen, stamped(generation, entry + 1))) return;
  }
}

// An entry that is the caller's alone; kHistFull, kHistLate.
uint32_t take_entry(HistTable* table, uint32_t generation) {
  const uint32_t spare = take_spare(table, generation);
  if (spare != kHistNone && claim(table, spare, generation)) return spare;
  for (;;) {
    uint64_t seen = __atomic_load_n(&table->taken, __ATOMIC_RELAXED);
    do {
      if (!is_of(seen, generation)) return kHistLate;
      if (uint32_t(seen) >= table->nr_entries) return kHistFull;
    } while (!exchange(&table->taken, &seen, seen + 1));
    if (claim(table, uint32_t(seen), generation)) return uint32_t(seen);
  }
}

void give_back(HistTable* table, uint32_t entry, uint32_t generation) {
  written(table, entry, generation);
  put_spare(table, entry, generation);
}

void write_key(const HistTable* table, uint32_t entry, const HistKey& key, uint32_t generation) {
  uint64_t* out = hist_key_of(table, entry);
  for (uint32_t i = 0; i < key.size; i++) out[i] = i < key.used ? key.word[i] : 0;
  for (uint32_t i = 0; i < table->nr_variables; i++) {
    HistVariableWord* variable = hist_variable(table, entry, i);
    variable->value = 0;
    variable->set = 0;
  }
  if (table->nr_saves) hist_forget_kept(hist_kept(table, entry), generation);
}

// --- slots

inline bool is_pending(uint64_t slot, uint32_t generation) {
  constexpr uint64_t kState = kHistDead;
  return (slot & kState) == kHistPending && !((slot ^ hist_tag(0, generation)) & kHistTagMask);
}

// It is what `state` says now, unless it was decided before.
void decide(HistTable* table, uint32_t at, uint32_t generation, uint64_t state) {
  uint64_t slot = __atomic_load_n(&table->slots[at], __ATOMIC_ACQUIRE);
  if (is_pending(slot, generation)) exchange(&table->slots[at], &slot, (slot & ~kHistDead) | state);
}

// E and F of place k.
void finish_place(HistTable* table, uint32_t k, uint32_t generation) {
  const uint64_t place = __atomic_load_n(&table->order[k], __ATOMIC_ACQUIRE);
  if (!is_of(place, generation)) return;
  decide(table, uint32_t(place) - 1, generation, kHistValid); /*E*/
  uint64_t seen = stamped(generation, k);
  exchange(&table->keys, &seen, seen + 1); /*F*/
}

// Until the slot is not pending any more, or of another generation.
void settle(HistTable* table, uint32_t at, uint32_t generation) {
  for (;;) {
    const uint64_t keys = __atomic_load_n(&table->keys, __ATOMIC_ACQUIRE);
    if (!is_of(keys, generation)) return;
    const auto k = uint32_t(keys);
    if (k) finish_place(table, k - 1, generation);
    if (!is_pending(__atomic_load_n(&table->slots[at], __ATOMIC_ACQUIRE), generation)) return;
    if (k >= table->size) return decide(table, at, generation, kHistDead);
    uint64_t place = __atomic_load_n(&table->order[k], __ATOMIC_ACQUIRE);
    if (!is_of(place, generation))
      exchange(&table->order[k], &place, stamped(generation, at + 1)); /*D*/
    finish_place(table, k, generation);
  }
}

// What one look at a slot says.
enum class Slot { kFree, kOther, kSame };
inline Slot look(const HistTable* table, uint64_t slot, uint64_t tag, const HistKey& key) {
  const uint64_t number = slot & kHistEntryMask;
  if (!number || (slot ^ tag) & kHistTagMask) return Slot::kFree;
  if ((slot ^ tag) >> 32) return Slot::kOther;
  const uint64_t* kept = hist_key_of(table, uint32_t(number) - 1);
  return hist_same_key(kept, key) ? Slot::kSame : Slot::kOther;
}

// One insertion on its way.
struct Insertion {
  HistTable* table;
  const HistKey& key;
  uint64_t tag;
  uint32_t generation;
  uint32_t mine;  // an entry with the key, not visible; kHistNone: none yet
};

// B and C. kHistNone: look at the slot again.
uint32_t fill(Insertion* insertion, uint64_t* word, uint64_t seen) {
  HistTable* table = insertion->table;
  const uint32_t generation = insertion->generation;
  if (insertion->mine == kHistNone) {
    const uint32_t taken = take_entry(table, generation);
    if (taken >= kHistLate) return taken;
    insertion->mine = taken;
    write_key(table, taken, insertion->key, generation); /*B*/
  }
  const uint32_t mine = insertion->mine;
  if (!exchange(word, &seen, insertion->tag | kHistPending | (mine + 1))) return kHistNone; /*C*/
  written(table, mine, generation);
  insertion->mine = kHistNone;
  return kHistNone;
}

bool is_full(const HistTable* table, uint32_t generation) {
  return __atomic_load_n(&table->keys, __ATOMIC_ACQUIRE) == stamped(generation, table->size);
}

// The entry of the key; kHistFull, kHistLate.
uint32_t insert(Insertion* insertion, uint32_t hash) {
  HistTable* table = insertion->table;
  const uint32_t generation = insertion->generation;
  uint32_t at = hash & table->slot_mask, entry = kHistNone;
  for (uint32_t i = 0; i <= table->slot_mask && entry == kHistNone;) {
    const uint64_t slot = __atomic_load_n(&table->slots[at], __ATOMIC_ACQUIRE);
    const Slot seen = look(table, slot, insertion->tag, insertion->key);
    if (seen == Slot::kOther) {
      i++;
      at = (at + 1) & table->slot_mask;
    } else if (hist_generation(table) != generation) { /*A*/
      entry = kHistLate;
    } else if (seen == Slot::kFree && !is_full(table, generation)) {
      entry = fill(insertion, &table->slots[at], slot);
    } else if (seen == Slot::kFree) {
      // It may have been the last key that came, after the slot was looked at.
      if (__atomic_load_n(&table->slots[at], __ATOMIC_ACQUIRE) == slot) entry = kHistFull;
    } else if (is_pending(slot, generation)) {
      settle(table, at, generation);
    } else {
      entry = (slot & kHistDead) == kHistDead ? kHistFull : uint32_t(slot & kHistEntryMask) - 1;
    }
  }
  return entry == kHistNone ? kHistFull : entry;
}

}  // namespace

uint32_t hist_insert(HistTable* table, const HistKey& key, uint32_t hash, uint32_t generation) {
  Insertion insertion = {table, key, hist_tag(hash, generation), generation, kHistNone};
  const uint32_t entry = insert(&insertion, hash);
  if (insertion.mine != kHistNone) give_back(table, insertion.mine, generation);
  return entry;
}

}  // namespace patchbay
