// SPDX-License-Identifier: MIT
//
// One hit of a histogram: key, entry, sums, variables, actions, in the order of the kernel's
// event_hist_trigger() (docs/files.md, "Variables and actions").
//
//   record ── key ── variables of others that are needed: one not set ends it here
//     ├─ hist_insert     the entry of the key, or dropped += 1
//     ├─ sums += values, variables = …
//     └─ actions         onmatch, onmax, onchange: trace (a hit of a synthetic event: its own
//                        triggers, filters and instances), save, snapshot
//
// Budget (docs/invariants.md): one integer key 1.0 x floor, two keys with a text 2 x, a pair with
// onmatch 4 x. General registers only, no lock, no allocation, no system call; a synthetic event
// that fires a histogram that fires a synthetic event … ends after kMaxHistDepth.
#pragma once

#include <cstdint>

#include "probe/triggers/trigger_hot.h"

namespace patchbay {

inline constexpr uint32_t kMaxHistDepth = 8;

void hist_update(const HistProgram* hist, const TriggerHit& hit, const uint8_t* record,
                 uint32_t size);

struct CallbackRecord;  // probe/callbacks/callback_hot.h
// From the code of a function's entry (codegen/callback_code.h): of one that has HistProgram.half.
// `ip`, `fp`: of the function's first frame.
void hist_from_code(const CallbackRecord* given, const HistProgram* hist, uint64_t fp, uint64_t ip);

// The same of one that has HistProgram.quick, in this generation of its table (hist_quick_hot.cc).
void hist_update_quick(const HistProgram* hist, const TriggerHit& hit, const uint8_t* record,
                       uint32_t size, uint32_t generation);

// A synthetic event as histograms (and later programs) hit it: its record is built, the header is
// written here. `live->programs` of all instances: static events and these share SiteProgram.
struct SyntheticTarget {
  const SiteProgram* program;  // atomic; null: nobody wants it
};
void synthetic_hit(const SyntheticTarget* target, const TriggerHit& hit, uint8_t* record,
                   uint32_t size);

}  // namespace patchbay
