// SPDX-License-Identifier: MIT
//
// The update of a histogram as code: what hist_update() does for an event that only counts, when
// nobody records the event and nothing of its record is needed but keys and values.
//
//   sequence 1   paused?  the table takes nothing?                    -> unusual, nothing done
//                values, keys: from the registers, or loaded          a fault  -> unusual
//                hash, slots: another key, a pending one, none        -> unusual
//                hitcount of this CPU's row += 1                      its one store, the last
//   sequence 2…  the generation is over?  -> done                     one for each value
//                sum of this CPU's row += value                       aborted: as hist_add.S does
//
// Keys that are new are the general way's to insert, so the code meets whole ones only
// (hist/hist_table_hot.h). Everything is computed in front of the first store: what goes the
// general way has done nothing. Clearing a table raises its generation and asks for
// membarrier(RSEQ), as it does for hist_add().
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/code_frame.h"
#include "hist/hist_program.h"

namespace patchbay {

// Where the code has a number of the record from.
struct HistCodeNumber {
  enum class Source : uint8_t { kField, kThread, kPlace, kCaller };
  Source source;
  HistOp op;      // how the histogram reads it: kU8 … kS32
  uint16_t insn;  // of kField: where its chain begins in the fetch program
};
struct HistCodeSum {
  HistCodeNumber value;
  uint32_t index;  // of the value in an entry
};

inline constexpr size_t kMaxHistCodeKeys = 4, kMaxHistCodeSums = 4;

// What the only trigger of an event counts. `keys` is empty where there can be no code: the event
// has other triggers, records, has threads that do not count; the histogram does more than count,
// or needs something else than such numbers.
struct HistCode {
  const HistProgram* hist = nullptr;
  std::vector<HistCodeNumber> keys;
  std::vector<HistCodeSum> sums;
};
HistCode hist_code(const SiteEvent& event);

// All that the code depends on beside the fetch program: equal words, equal code.
std::vector<uint64_t> hist_code_words(const HistCode& hist);

// What emit_hist() has beside the code. The caller describes `sums`, as many as there are.
struct HistSequences {
  const Sequence& first;
  Sequence* sums;
};

// Emits the update. It goes on behind it with all done, and at `unusual` with nothing done. All of
// reg::kSpent are saved. The caller puts the abort of the first sequence, which may fault.
void emit_hist(const CodeFrame& frame, const HistCode& hist, const HistSequences& sequences,
               const Label& unusual);

}  // namespace patchbay
