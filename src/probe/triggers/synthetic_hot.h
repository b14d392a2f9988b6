// SPDX-License-Identifier: MIT
//
// Synthetic events that the program records itself (patchbay/trace_events.h):
//
//   synth_event_trace(file, n, v…) ── api/synth_trace.S: the values as an array, and
//     |                                 where the stack is
//     └─ synthetic_trace
//          |-- file -> SiteProgram of this event in this instance alone; none: it is off
//          |-- one event, all threads, no triggers
//          |     |-- no filter: values -> record in the ring (synthetic_place.S), usually. If not:
//          |     '-- values -> record on the stack, by SyntheticPlan ── filter
//          |           '-- ring_publish_pieces: texts take 256 bytes each of which few are used
//          '-- else, for each event (event probes stand behind the own one): early triggers, pid
//              lists, the whole record, offer_record as for a static event
//
//   synth_event_trace_start/add/end ── the record grows in the caller's state, from which the end
//                                      goes the same ways
//
// Budget (docs/invariants.md): seven values, two are texts, 2 x floor; piece by piece 4 x. General
// registers only, no lock, no allocation, no system call; texts are read through the fault table.
#pragma once

#include <cstdint>

#include "probe/probe_abi.h"
#include "probe/triggers/hist_hot.h"

struct synth_event_trace_state;  // patchbay/trace_events.h

namespace patchbay {

enum class SyntheticKind : uint8_t { kNumber, kText, kDynamicText, kStack, kEnd };

inline constexpr uint32_t kSyntheticTextBytes = 256;
inline constexpr uint32_t kMaxDynamicText = 4096;  // with its NUL
inline constexpr uint32_t kMaxPlanFields = 64;

// How values become a record. Made with the event, immutable, never freed. Fields lie side by side.
struct SyntheticPlan {
  struct Field {
    uint64_t mask;    // of a number: the bits of its type; it takes 8 bytes whatever it is
    uint32_t offset;  // in the record
    SyntheticKind kind;
    uint8_t text;        // of kText: how many stand before it
    uint8_t repeats;     // 1: a field before it has the same name
    uint8_t name_words;  // of 8 bytes, with the NUL and zeros behind it; 0: too many
    const char* name;
    uint64_t name_mask;  // of its last word: the bytes up to the NUL
  };
  uint32_t nr_fields;
  uint32_t fixed_size;  // a multiple of 8
  uint32_t nr_texts;    // of fixed size: kSyntheticTextBytes each
  uint32_t nr_dynamic;  // texts of any length, and stacks
  // What synthetic_place.S wants, without dynamic fields.
  uint64_t event_bytes;                  // of the event in the ring, with its header
  uint64_t event_header;                 // but for the delta
  uint32_t event_header_bytes;           // 4 or 8
  uint32_t event_end;                    // event_bytes + 16
  uint64_t mask[kMaxPlanFields];         // of each field
  uint32_t run_end[kMaxPlanFields + 2];  // 8 * index of each text, and of the end; then 0
  uint32_t text[kMaxPlanFields];         // offsets of those of fixed size
  Field field[];                         // nr_fields, and one of kind kEnd
};

// synth_event_trace_state.open: its address, and with which function its fields come.
inline constexpr uint64_t kStateByNext = 1;

enum : uint16_t {
  kSyntheticInPlace = 1
};  // SiteProgram.code, where synthetic_place() may be tried

// What a struct trace_event_file is: one event in one instance, of whatever kind. Never freed, so
// that use after put is answered.
struct EventFileHandle {
  void* tr;                   // trace_event_file.tr
  uint32_t references;        // atomic; 0: it was put
  uint32_t gone;              // atomic; 1: the event is no more
  SyntheticTarget target;     // of a synthetic event: what this instance alone wants of it
  const SyntheticPlan* plan;  // null: of another kind
};

// 0 or a negative errno, as in patchbay/trace_events.h. `start`: where the stack of the call is.
extern "C" {
int synthetic_trace(const EventFileHandle* file, uint32_t nr_values, const uint64_t* values,
                    uint64_t ip, uint64_t sp, uint64_t fp);
int synthetic_off(const EventFileHandle* file);  // nobody wants the event: is that all?
int synthetic_start(const EventFileHandle* file, synth_event_trace_state* state);
int synthetic_add_next(synth_event_trace_state* state, uint64_t value);
int synthetic_add_named(synth_event_trace_state* state, const char* name, uint64_t value);
int synthetic_end(synth_event_trace_state* state, uint64_t ip, uint64_t sp, uint64_t fp);

// The usual case of the first and the last (synthetic_place.S). 0: recorded; else nothing has
// happened.
int synthetic_place(const EventFileHandle* file, uint32_t nr_values, const uint64_t* values);
void synthetic_place_of();  // from api/synth_trace.S
int synthetic_place_state(const EventProgram* event, const SyntheticPlan* plan,
                          const synth_event_trace_state* state);
}

}  // namespace patchbay
