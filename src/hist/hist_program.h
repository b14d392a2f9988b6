// SPDX-License-Identifier: MIT
//
// What a hit of a histogram runs (hist_hot.cc): plain data that hist_compile makes of a
// HistData. Immutable once published and never freed, but for `paused`.
//
//   HistProgram ─┬─ keys        where each part of the compound key comes from
//                ├─ references  variables that are read: of which table, which one
//                ├─ values      what is added to the sums; [0], the hitcount, is not among them
//                ├─ variables   what this histogram remembers with each entry
//                └─ actions     onmatch, onmax, onchange: trace, save, snapshot
//
// A number is a few steps in reverse Polish order, with 64-bit unsigned arithmetic: `next_pid` is
// one step, `common_timestamp-$ts0` three.
#pragma once

#include <cstdint>

#include "hist/hist_table_hot.h"

namespace patchbay {

struct FetchProgram;
struct HistPairHalf;
struct HistQuick;
struct HitAction;        // probe/triggers/action_hot.h
struct SyntheticTarget;  // probe/triggers/hist_hot.h

inline constexpr uint32_t kMaxHistReferences = 32;  // of one histogram
inline constexpr uint32_t kMaxHistOwn = 16;         // variables that each hit sets
inline constexpr uint32_t kMaxHistStack = 8;        // numbers that wait in an expression
// With the NUL. The last byte of a text of that size in a key says what else there is of the text:
// 0 nothing, so many NULs (at most kHistTextCut - 1), or kHistTextCut: more than there is room for.
inline constexpr uint32_t kHistTextBytes = 256;
inline constexpr uint8_t kHistTextCut = 0xff;
inline constexpr uint32_t kHistStackFrames = 31;
inline constexpr uint32_t kMaxHistKeySize = kHistTextBytes + kHistStackFrames * 8;
// Of a stack in a variable or a field: the number of frames, then they.
inline constexpr uint32_t kHistStackBytes = (kHistStackFrames + 1) * 8;

// From the raw clock of records (TSC) to what `trace_clock` shows: replaced as a whole when the
// rate is known better, so that time goes on where it was.
struct HistClock {
  uint64_t ticks;     // raw clock at …
  uint64_t time;      // … this time
  uint64_t multiply;  // time units for a tick, times 2^shift
  uint32_t shift;
  uint32_t is_monotonic;              // 1: the raw clock is CLOCK_MONOTONIC
  const HistClock* before = nullptr;  // that this one took over from; a hit may still be in it
};

enum class HistOp : uint8_t {
  kU8,  // push what stands at `offset` of the record
  kU16,
  kU32,
  k64,
  kS8,
  kS16,
  kS32,
  kConstant,    // push constant
  kCpu,         // push the CPU
  kTime,        // push the time of the hit
  kTimeUsecs,   // the same in microseconds, rounded
  kReference,   // push the variable that reference `offset` has found
  kLog2,        // n with 2^n >= top > 2^(n-1)
  kBucket,      // top rounded down to a multiple of constant
  kUnaryMinus,  // 0 - top
  kPlus,        // the two on top become one
  kMinus,
  kTimes,
  kDivide,  // by zero: all ones
};

struct HistStep {
  HistOp op;
  uint8_t reserved[3];
  uint32_t offset;
  uint64_t constant;
};

enum class HistSource : uint8_t {
  kNumber,      // by steps
  kChars,       // text: char[field_size] at `offset`
  kDataLoc,     // text behind a __data_loc word
  kCounted,     // the same, of a text with a length: it ends before its last NUL, not its first
  kRelLoc,      // text behind a __rel_loc word
  kPointer,     // text: `fetch` follows the char pointer into a record of its own
  kComm,        // the name of the thread: a system call
  kRestText,    // text from `offset` to the end of the record
  kCallStack,   // of the hit
  kFieldStack,  // long[] behind a __data_loc word: number of frames, frames
};

struct HistValue {
  HistSource source;
  uint8_t nr_steps;
  uint16_t size;        // of a text: bytes with its NUL, at most
  uint32_t offset;      // in the record
  uint32_t field_size;  // of kChars
  const HistStep* steps;
  const FetchProgram* fetch;
};

// Numbers stand first, in their order, then texts and stacks: so what is not used of a key lies at
// its end, where only one of them has to be filled up with 0 (or none, mostly).
struct HistKeyField {
  HistValue value;
  uint32_t first, words;  // in the key
};

struct HistSum {
  HistValue value;
  uint32_t index;      // of the value
  uint32_t quantiles;  // 1 + its first counter of .quantiles; 0: none
  uint32_t is_signed;  // of those: it has counters for values below 0
};

struct HistVariable {
  HistValue value;
  uint32_t index;  // of the variable
  uint32_t text;   // of a text or stack: where it is kept in the entry's texts
  uint32_t kept;   // of save(): where it is kept in a save (hist_saves_hot.h)
};

// A text stands in a save whole; of a stack its address alone.
inline bool is_kept_text(const HistVariable& variable) {
  const HistSource source = variable.value.source;
  return source != HistSource::kNumber && source < HistSource::kCallStack;
}

struct HistReference {
  HistTable* table;
  uint32_t variable;
  uint8_t is_self;  // of this histogram: read behind the update
  uint8_t read_once;
  uint16_t own;  // of this histogram: 1 + its number among those that each hit sets; 0: it is not
};

// One field of the record of a synthetic event.
enum class HistParamKind : uint8_t { kNumber, kChars, kDynamicText, kStack };
struct HistParam {
  HistParamKind kind;
  uint8_t size;  // of a number
  uint16_t reference;
  uint32_t offset;  // in the record
};

// What snapshot() has seen; T is replaced with one exchange of both words. In memory that forked
// children share.
struct alignas(16) HistTracked {
  uint64_t value;
  uint64_t entry;  // 1 + the entry of the table; 0: nothing yet
};

enum class HistWhen : uint8_t { kAlways, kMax, kChange };  // onmatch, onmax, onchange
enum class HistDo : uint8_t { kTrace, kSave, kSnapshot };

struct HistAct {
  HistWhen when;
  HistDo what;
  uint16_t reference;   // of kMax, kChange: what is tracked
  uint32_t track;       // variable that keeps it
  uint32_t nr_params;   // of kTrace
  uint32_t fixed_size;  // of the record without dynamic texts
  uint32_t max_size;    // and with them
  const HistParam* params;
  const SyntheticTarget* target;
  uint32_t nr_saved;  // of kSave
  const HistVariable* saved;
  HitAction* snapshot;  // of kSnapshot
  HistTracked* tracked;
};

// In memory that forked children share.
struct HistProgram {
  uint32_t paused;  // atomic; 1: hits are not looked at
  uint32_t nr_keys, nr_values, nr_variables, nr_references, nr_acts;
  uint32_t key_words;
  uint8_t has_others;  // references to variables of other histograms
  uint8_t has_self;
  uint8_t is_simple;  // one key, a field that is a number; hitcount and nothing else
  uint8_t reserved;
  HistTable* table;
  const uint32_t* event_switch;  // atomic; not null: of all hists of the event, see below
  const HistKeyField* keys;
  const HistReference* references;
  const HistSum* values;
  const HistVariable* variables;
  const HistAct* acts;
  const HistClock* const* clock;  // atomic pointer
  const HistQuick* quick;         // not null: hits go the straight way (hist/hist_quick.h)
  const HistPairHalf* half;       // not null: they do that in assembler (hist/hist_pair.h)
  // For readers of the table: where the text of a variable is, ~0u for a number.
  const uint32_t* texts;
  uint32_t nr_texts;
};

// enable_hist and disable_hist store one word for all hists of an event,
// EventTriggers::hist_switch. It holds until one of them is paused or continued, which moves it
// into the `paused` of each and stores kHistEach.
enum : uint32_t { kHistEach = 0, kHistAllOn = 1, kHistAllPaused = 2 };

inline bool hist_is_paused(const HistProgram* hist) {
  if (hist->event_switch) {
    const uint32_t all = __atomic_load_n(hist->event_switch, __ATOMIC_RELAXED);
    if (all != kHistEach) return all == kHistAllPaused;
  }
  return __atomic_load_n(&hist->paused, __ATOMIC_RELAXED) != 0;
}

}  // namespace patchbay
