// SPDX-License-Identifier: MIT
//
// onmax().save() and onchange().save(): the value that is tracked and the fields of the event that
// it came from are one thing, wherever a hit is preempted or interrupted.
//
//   entry   [ claim ][ key ][ variables ][ texts ][ kept ]
//                                                   │
//   kept    [ value:64 ][ mark: change:32 | generation:12 | 1 + save:20 ]     one exchange of both
//                                                                │
//   saves   [ claim | next ][ fields … ]    [ claim | next ][ … ]<┘
//
//   hit      /*A*/ the value does not beat the one that is kept: nothing else happens
//            /*B*/ a free save is taken and filled: nobody else sees it
//            /*C*/ one exchange of [ value, mark ]. Lost: the comparison is made again, with the
//                  value that is there now; the save stays filled
//            /*D*/ the save that was replaced, or the own one where the value was beaten, is free
//   reader   the mark, the value and the fields are copied, then the mark is looked at again. Each
//            exchange counts `change` up, so that the same mark says: nothing was replaced
//            meanwhile, and a save that is not replaced is never written.
//
// Nobody waits: an exchange is lost to a hit that has made progress. A signal handler that hits the
// same entry between A and C publishes its own, and C is lost to it.
//
// Saves are as many as entries and kHistMoreSaves; so many hits may be between B and D at a moment,
// or have died there. Where no save is free the value is kept alone, with no fields.
//
// Generations are those of hist_table_hot.h. A late hit of an earlier one finds the mark of another
// generation and gives up. A save that it still fills is left alone by the new one (`claim`).
#pragma once

#include "hist/hist_table_hot.h"

namespace patchbay {

inline constexpr uint32_t kHistSaveBits = 20, kHistSaveHead = 16;

struct alignas(16) HistKept {
  uint64_t value;
  uint64_t mark;
};

inline constexpr uint64_t kHistSaveMask = (uint64_t{1} << kHistSaveBits) - 1;
inline constexpr uint64_t kHistChange = uint64_t{1} << 32;

// The mark of a value that was never set.
inline uint64_t hist_fresh_mark(uint32_t generation) {
  return uint64_t{uint32_t(generation << (kHistSaveBits - 1))};
}
inline bool hist_mark_is_of(uint64_t mark, uint32_t generation) {
  return !(uint32_t(mark ^ hist_fresh_mark(generation)) & ~uint32_t(kHistSaveMask));
}
// kHistNone: no fields.
inline uint32_t hist_save_of(uint64_t mark) { return uint32_t(mark & kHistSaveMask) - 1; }

inline HistKept* hist_kept(const HistTable* table, uint32_t entry) {
  return reinterpret_cast<HistKept*>(hist_entry(table, entry) + table->kept_at);
}
// The entry is written anew. The mark comes first: so C of a hit of an earlier generation is lost,
// even where the value that it has seen was 0.
inline void hist_forget_kept(HistKept* kept, uint32_t generation) {
  __atomic_store_n(&kept->mark, hist_fresh_mark(generation), __ATOMIC_RELEASE);
  __atomic_store_n(&kept->value, 0, __ATOMIC_RELEASE);
}
inline uint8_t* hist_save_fields(const HistTable* table, uint32_t save) {
  return table->saves + uint64_t{save} * table->save_size + kHistSaveHead;
}

// The two words may be of different moments: for a first comparison, which an exchange confirms.
inline HistKept hist_look_at(const HistKept* kept) {
  HistKept seen;
  seen.mark = __atomic_load_n(&kept->mark, __ATOMIC_ACQUIRE);
  seen.value = __atomic_load_n(&kept->value, __ATOMIC_ACQUIRE);
  return seen;
}

// C. False: `seen` is what is there. True: the save of `seen` is the caller's.
bool hist_replace(HistKept* kept, HistKept* seen, uint64_t value, uint32_t save);

// B. A save that is the caller's alone, until hist_save_filled(); kHistNone: there is none.
uint32_t hist_take_save(HistTable* table, uint32_t generation);
void hist_save_filled(const HistTable* table, uint32_t save, uint32_t generation);
// D.
void hist_give_save(HistTable* table, uint32_t save, uint32_t generation);

// For readers: what is kept, and a copy of the fields of its save (save_size - kHistSaveHead
// bytes). False: it was replaced again and again, or holds no fields; `kept` is right nevertheless.
bool hist_copy_save(const HistTable* table, uint32_t entry, HistKept* kept, uint64_t* fields);

}  // namespace patchbay
