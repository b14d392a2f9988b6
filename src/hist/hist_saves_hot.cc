// SPDX-License-Identifier: MIT
//
// Free saves are a list whose head counts its changes; those that were never used stand behind
// `taken_saves`, so that no memory is touched before it is needed.
//
//   free_saves   [ change:32 | generation:12 | 1 + save:20 ]  ->  next  ->  next … 0
#include "hist/hist_saves_hot.h"

namespace patchbay {

namespace {

constexpr uint32_t kBeingWritten = 1;
constexpr int kReaderTries = 10000;

struct SaveHead {
  uint32_t claim;  // atomic; generation, and kBeingWritten
  uint32_t next;   // atomic; 1 + the next free one
};

SaveHead* head_of(const HistTable* table, uint32_t save) {
  return reinterpret_cast<SaveHead*>(hist_save_fields(table, save) - kHistSaveHead);
}

// False: a hit that began before a clear still writes the save, or the caller began then.
bool claim(const HistTable* table, uint32_t save, uint32_t generation) {
  uint32_t* word = &head_of(table, save)->claim;
  uint32_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
  if (seen & kBeingWritten || int32_t(seen - generation) > 0) return false;
  return __atomic_compare_exchange_n(word, &seen, generation | kBeingWritten, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

uint64_t next_mark(uint64_t mark, uint32_t save) {
  return ((mark & ~kHistSaveMask) + kHistChange) | uint64_t{save + 1};
}

// kHistNone: the list is empty, or of another generation.
uint32_t take_free(HistTable* table, uint32_t generation) {
  uint64_t head = __atomic_load_n(&table->free_saves, __ATOMIC_ACQUIRE);
  for (;;) {
    const uint32_t save = hist_save_of(head);
    if (save == kHistNone || !hist_mark_is_of(head, generation)) return kHistNone;
    // What it was if the list has changed meanwhile; then the exchange is lost.
    const uint32_t next = __atomic_load_n(&head_of(table, save)->next, __ATOMIC_RELAXED);
    if (__atomic_compare_exchange_n(&table->free_saves, &head, next_mark(head, next - 1), false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return save;
  }
}

// The next one that was never used.
uint32_t take_new(HistTable* table, uint32_t generation) {
  uint64_t seen = __atomic_load_n(&table->taken_saves, __ATOMIC_RELAXED);
  do {
    if (seen >> 32 != generation || uint32_t(seen) >= table->nr_saves) return kHistNone;
  } while (!__atomic_compare_exchange_n(&table->taken_saves, &seen, seen + 1, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
  return uint32_t(seen);
}

}  // namespace

uint32_t hist_take_save(HistTable* table, uint32_t generation) {
  for (;;) {
    uint32_t save = take_free(table, generation);
    if (save == kHistNone) save = take_new(table, generation);
    if (save == kHistNone || claim(table, save, generation)) return save;
  }
}

void hist_save_filled(const HistTable* table, uint32_t save, uint32_t generation) {
  __atomic_store_n(&head_of(table, save)->claim, generation, __ATOMIC_RELEASE);
}

// Of another generation: all saves are free there.
void hist_give_save(HistTable* table, uint32_t save, uint32_t generation) {
  uint64_t head = __atomic_load_n(&table->free_saves, __ATOMIC_RELAXED);
  do {
    if (!hist_mark_is_of(head, generation)) return;
    __atomic_store_n(&head_of(table, save)->next, uint32_t(head & kHistSaveMask), __ATOMIC_RELAXED);
  } while (!__atomic_compare_exchange_n(&table->free_saves, &head, next_mark(head, save), false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
}

bool hist_replace(HistKept* kept, HistKept* seen, uint64_t value, uint32_t save) {
  bool done;
  asm volatile("lock cmpxchg16b %1"
               : "=@ccz"(done), "+m"(*kept), "+a"(seen->value), "+d"(seen->mark)
               : "b"(value), "c"(next_mark(seen->mark, save))
               : "memory");
  return done;
}

bool hist_copy_save(const HistTable* table, uint32_t entry, HistKept* kept, uint64_t* fields) {
  const HistKept* from = hist_kept(table, entry);
  for (int i = 0; i < kReaderTries; i++) {
    *kept = hist_look_at(from);  // pairs with hist_replace()
    const uint32_t save = hist_save_of(kept->mark);
    if (save < table->nr_saves) {
      const auto* words = reinterpret_cast<const uint64_t*>(hist_save_fields(table, save));
      for (uint32_t k = 0; k < (table->save_size - kHistSaveHead) / 8; k++)
        fields[k] = __atomic_load_n(words + k, __ATOMIC_ACQUIRE);  // all before the next look
    }
    if (__atomic_load_n(&from->mark, __ATOMIC_ACQUIRE) == kept->mark) return save < table->nr_saves;
  }
  return false;
}

}  // namespace patchbay
