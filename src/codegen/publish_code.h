// SPDX-License-Identifier: MIT
//
// The publish protocol (abi/buffer_abi.h) in generated code: one record into the ring of this CPU,
// in the usual case. It is ring_buffer/ring_record.inc with what is known at this time folded in:
// the size, the event's id and address, and fields that go straight from their registers into the
// sub-buffer. Nothing of the rings is folded in: they may be replaced.
#pragma once

#include "codegen/code_frame.h"

namespace patchbay {

// Emits the whole restartable sequence. It goes on behind it with the record published, and at
// `unusual` with nothing done. All of reg::kSpent are saved. The caller puts the abort.
void emit_publish(const CodeFrame& frame, const Sequence& sequence, const Label& unusual);

// One more for the hits of the place (probe/hit_counter.h), likewise. The caller puts the abort.
void emit_count(const CodeFrame& frame, const Sequence& sequence);
void emit_count_locked(const CodeFrame& frame);

}  // namespace patchbay
