// SPDX-License-Identifier: MIT
//
// The straight way of a hit through a histogram of numbers, which most are: fields as the key, of
// which the last may be a text in the record; sums, variables and traced values that are fields,
// times, variables of other histograms, or the time since one. The steps of a HistProgram stand
// here ready to be used, in one piece:
//
//   keys[], text ── others[]      variables of other histograms of this key:   values[0 …]
//     ├─ sums[]
//     ├─ variables[]              what this one remembers:                     values[kQuickOwn …]
//     └─ acts[]                   synthetic events, whose fields are of `values`
//
// hist_quick_hot.cc runs it. A program that does not fit goes the general way (hist_hot.cc). Both
// do the same.
#pragma once

#include <cstdint>

#include "hist/hist_program.h"

namespace patchbay {

inline constexpr uint32_t kMaxQuick = 4;        // keys, others, sums, variables
inline constexpr uint32_t kMaxQuickActs = 2;    // and
inline constexpr uint32_t kMaxQuickParams = 8;  // of each
inline constexpr uint32_t kQuickOwn = kMaxQuick;
inline constexpr uint32_t kMaxQuickRecord = 8 + 8 * kMaxQuickParams;

enum class HistQuickKind : uint8_t { kField, kValue, kTime, kTimeSince };

struct HistQuickNumber {
  HistQuickKind kind;
  HistOp load;       // of kField
  uint8_t in_usecs;  // of kTime, kTimeSince
  uint8_t slot;      // of kValue, kTimeSince: in `values`
  uint32_t offset;   // of kField: in the record
};

struct HistQuickOther {
  HistTable* table;
  uint32_t at;  // of the variable in an entry
  uint8_t read_once;
};
struct HistQuickSum {
  HistQuickNumber value;
  uint32_t index;
};
struct HistQuickVariable {
  HistQuickNumber value;
  uint32_t at;
};
struct HistQuickParam {
  uint64_t mask;  // of the field's size; it fills 8 bytes of the record
  uint64_t slot;
};
struct HistQuickAct {
  const SyntheticTarget* target;
  uint64_t nr_params;
  HistQuickParam params[kMaxQuickParams];
};

// The parts that it has. The way of a hit is compiled once for each shape.
enum class HistQuickShape : uint8_t {
  kAny,
  kCounts,     // keys and sums: no others, variables, acts
  kRemembers,  // variables alone: the first half of a pair
  kMatches,    // one other, one act, perhaps variables, no sums: the second half
};

// Immutable. In memory that is never freed.
struct HistQuick {
  HistQuickNumber keys[kMaxQuick];
  const HistValue* text;  // behind them; null: none
  uint8_t nr_keys;
  uint8_t nr_others, nr_sums, nr_variables, nr_acts;
  uint8_t uses_time;
  HistQuickShape shape;
  uint8_t is_word;  // one key, no text
  HistQuickOther others[kMaxQuick];
  HistQuickSum sums[kMaxQuick];
  HistQuickVariable variables[kMaxQuick];
  HistQuickAct acts[kMaxQuickActs];
};

// For a program that is complete but for `quick`. Null: the program does not fit.
const HistQuick* make_hist_quick(const HistProgram& program);

}  // namespace patchbay
