// SPDX-License-Identifier: MIT
//
// The table of a histogram: of fixed size, lock-free, shared with forked children, exact. Writers
// are traced threads and their signal handlers; nobody waits for anybody.
//
//   slots  2 x size   hash and entry of a key      0: free. Open addressing, linear
//   order     size    the slots, as their keys came
//   entries   size    [ key ][ variables ][ texts and stacks of variables ]
//   saves    > size   what save() keeps, beside the entries (hist_saves_hot.h)
//   sums   (nr_cpus + 1) x size x values           a row a CPU, added to in a restartable
//                                                  sequence; the last row with a lock
//
//   insert: an entry is taken and its key written, then one compare-and-swap of the slot shows it.
//   A thread that loses against an equal key gives its entry back. So no reader ever meets half a
//   key, and a handler that interrupts an insert of the same key does not wait for it
//   (hist_table_hot.h).
//
// A key that finds no entry left is counted in `dropped`. Hits = the sums of hitcounts: nothing is
// counted twice, nothing is lost.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace patchbay {

struct HistShape {
  uint32_t bits = 11;      // size = 1 << bits
  uint32_t key_size = 0;   // bytes; a multiple of 8, what is not used is 0
  uint32_t nr_values = 1;  // [0] is hitcount
  uint32_t nr_variables = 0;
  uint32_t text_bytes = 0;        // of all texts and stacks of variables, per entry
  uint32_t quantile_buckets = 0;  // counters of .quantiles, per entry: kQuantileBuckets for each
                                  // value that has it, twice of one with a sign; 0: none
  uint32_t save_bytes = 0;        // of what onmax().save() keeps: fields of one event; 0: none
  uint32_t nr_cpus = 1;
};

struct HistTable;  // hist_table_hot.h: what a traced thread sees of it

// Memory is reserved whole and touched as it is used. ENOMEM.
Result<HistTable*> make_hist_table(const HistShape& shape);
// No thread can be in it any more (after quiesce()), or the pages alone are given back
// (madvise) and the table stays: a thread that is late writes into nothing anybody reads.
void retire_hist_table(HistTable* table);
// Everything 0 again. Hits that come meanwhile count either before or after it.
void clear_hist_table(HistTable* table);

struct HistEntry {
  const uint8_t* key;
  uint32_t index;
  std::vector<uint64_t> values;  // sums over the CPUs
};
struct HistTotals {
  uint64_t hits = 0, entries = 0, dropped = 0;
};
// What is there, in the order in which the keys came.
std::vector<HistEntry> read_hist_table(const HistTable* table, HistTotals* totals);
// The hits alone: nothing is made for the entries.
uint64_t count_hist_hits(const HistTable* table);
// A variable of an entry; false: not set.
bool read_hist_variable(const HistTable* table, uint32_t entry, uint32_t variable, uint64_t* value);
// The counters of .quantiles of an entry, HistShape.quantile_buckets of them, summed over the CPUs.
std::vector<uint64_t> read_hist_quantiles(const HistTable* table, uint32_t entry);
// Text or stack at an offset in the entry's texts.
const uint8_t* hist_text_at(const HistTable* table, uint32_t entry, uint32_t offset);

}  // namespace patchbay
