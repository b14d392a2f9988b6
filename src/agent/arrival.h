// SPDX-License-Identifier: MIT
//
// An agent that comes into a running program, and goes to sleep there again (docs/attach.md). The
// tool's half is in src/attach/, what both say to each other in abi/attach_abi.h.
//
//   patchbay_attached(socket)         called by the thread that has loaded the library, or, in a
//     |                               program where it sleeps, by one made for the purpose
//     new thread: the agent's own
//       settings, directory           from the tool; nothing of the program's environment
//       agent made, or woken up
//       hooks of libc's entries       made here, written by the tool while all threads stand still
//       dispositions of signals       in the same moment
//       what the settings ask for
//       serves, until a tool says detach
//       all is switched off           every byte but those of the hooks is as it was
//       hooks, masks, dispositions    taken back in such a moment again
//     thread ends; the library stays mapped, with its stubs, in which a thread may still be
#pragma once

#include "base/result.h"

namespace patchbay {

struct Agent;

// In the constructor: this thread loads the library for patchbay_attached(). Nothing is begun.
bool is_loaded_late();

// Nothing is on any more, and no definition, instance or setting of a tool is left. Under the
// agent's lock. EBUSY where something is in use; EAGAIN where a thread does not leave a patched
// place.
Status switch_all_off(Agent* agent);
// The same before the agent leaves; its children are told that it does.
Status prepare_to_leave(Agent* agent);

}  // namespace patchbay
