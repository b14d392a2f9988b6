// SPDX-License-Identifier: MIT
//
// A forked child of a process that was attached to. It has a copy of the agent:
//
//   the parent's agent serves   the child follows it, and records in its buffers (followers.h)
//   it is asleep                the child's is, too
//   it goes to sleep            the child's as well, but the hooks in libc stay until somebody
//                               attaches to the child and detaches again
//
// A child that is attached to, or whose parent's agent has gone, goes its own way: it leaves all
// that it shares with the parent, and is then as any other process that was attached to. Its own
// children follow it.
//
//   1. its follower ends
//   2. go_own_way(): rings in memory of its own, a copy of the shared words at their addresses;
//      then all is switched off, which no other process notices any more
#pragma once

#include "base/result.h"

namespace patchbay {

struct Agent;

// Whether `agent` is a copy that a fork has made here.
bool is_inherited(const Agent& agent);

// The child, which has no follower any more, has nothing to do with its parent, and its agent is
// asleep. EBUSY, EAGAIN: a thread does not leave a patched place, or something is in use; it can be
// tried again.
Status go_own_way(Agent* agent);

// For an agent that comes to this process: its follower ends first.
Status leave_parent(Agent* agent);

}  // namespace patchbay
