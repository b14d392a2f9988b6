// SPDX-License-Identifier: MIT
//
// The code of a stub before the displaced instructions (patch/patcher.h: StubPrologue): either the
// general way into probe_hit(), or in front of it a fast path generated for one event whose fields
// are all plain registers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "probe/probe_abi.h"

namespace patchbay {

struct ProbeCode {
  const CallSite* site;      // stays where it is
  const EventProgram* fast;  // the one event to generate a fast path for; null: none
  bool uses_xmm;             // some event reads xmm registers
  bool flags_live;           // SitePlan.flags_live: no fast path, flags are kept
  bool inside = false;       // a place inside a function, behind a step over the red zone: no fast
                             // path, flags are kept, all general registers can be read
  const EventProgram* filtered =
      nullptr;  // the one event whose filter the code tests before
                // anything else; also that of `fast` when it has a filter
};

// Writes the prologue for execution at `address`; returns its size, 0 when `capacity` is too small.
size_t emit_probe(const ProbeCode& code, uint8_t* out, size_t capacity, uint64_t address);

// True when a fast path can be generated for the event in this process (rseq works, the record is
// small, every field is a register, every thread's events are wanted, a filter can be tested on the
// registers). The code reads EventProgram.rings each time, so the program must outlive it; sizes
// may change under it.
bool has_fast_path(const EventProgram& event);

// True when the event has a filter that the code can test on the registers of the call, so that a
// call that does not match costs next to nothing, whatever the event's other fields are.
bool has_register_filter(const EventProgram& event);

}  // namespace patchbay
