// SPDX-License-Identifier: MIT
//
// Libraries that come and go while the program runs, seen at the moment when it happens.
//
//   dlopen()                                   dlclose()
//     objects are mapped                         destructors
//     _dl_debug_state()  <- the agent looks      objects are unmapped
//     relocation                                 _dl_debug_state()  <- the agent looks
//     constructors
//
// The dynamic linker calls this empty function for debuggers whenever its list of objects changes
// (r_debug.r_brk). It gets a site of ours, whose stub calls objects_changed() on the thread that
// loads or unloads: events of the new object are placed before any of its code runs, and the books
// hold no place of an object that is gone when the next one may come to the same address.
//
// That thread holds the dynamic linker's lock of loading, and waits for the agent's lock. No thread
// waits for the first while it holds the second, unless a signal handler makes it so. So the wait
// is bounded. In these cases the control thread does the work instead, which looks at the objects
// each second:
//   - the thread is in the agent already (dlopen in a signal handler or in a callback)
//   - it has less stack left than the look may need
//   - the agent's lock is not to be had in time
//   - the function cannot be patched, because a debugger has its breakpoint there
#pragma once

namespace patchbay {

struct Agent;

// Under the agent's lock, after everything that may have changed what is wanted: watches while
// something is wanted that an object may bring, and stops a while after.
void follow_wishes(Agent* agent);

// Whatever is wanted: nothing watches until the next follow_wishes().
void stop_watching_loads(Agent* agent);

// On the control thread, under the lock, from time to time: an object that was mapped at the last
// look has been relocated since. Returns whether loads are seen as they happen.
bool loads_are_watched(Agent* agent);

}  // namespace patchbay
