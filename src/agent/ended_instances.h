// SPDX-License-Identifier: MIT
//
// Instances whose owner has ended (patchbay_trace_array_end()) while somebody else used them. They
// record nothing any more, and go with their last user:
//
//   end ── in use? ── no ──> removed
//             '────── yes ─> ended_instances ── each call, each command of a client, each second:
//                                               no user left? ──> removed
#pragma once

#include "agent/agent.h"

namespace patchbay {

// 0: it is gone. -EBUSY: it goes with its last user. Under the agent's lock, as the others.
int end_instance(Agent* agent, TraceArray& array);
void remove_ended_instances(Agent* agent);
// Somebody asks for it by its name: it stays, and records again.
void revive_instance(Agent* agent, TraceArray& array);
// Whether it only waits for its last user.
bool has_ended(const Agent* agent, const TraceArray& array);

}  // namespace patchbay
