/* SPDX-License-Identifier: MIT
 *
 * Which executable or library a call of the in-process API is compiled into, and what goes with it.
 * Included by the headers that need it; C11 and C++.
 *
 *   dlclose(library) -> the destructor below, behind the library's own -> patchbay_module_gone()
 *
 * When a library is unloaded, the events that it owns go (PATCHBAY_THIS_MODULE in
 * patchbay/trace_events.h), and so do its callbacks that are still registered (patchbay/ftrace.h)
 * or subscribed (patchbay/subscribe.h): before its code is unmapped no hit calls them any more, and
 * threads that are in one are waited for, at most two seconds in all (also when the process ends).
 * A thread that stays in one longer, or unloads the library from inside of one, returns into memory
 * that is gone, as from any other function of the library.
 */
#ifndef PATCHBAY_THIS_MODULE_H
#define PATCHBAY_THIS_MODULE_H

#include <patchbay/api_names.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* (Patchbay's own sources are no such object.) */
#ifndef PATCHBAY_OWN_SOURCE
extern __attribute__((weak, visibility("hidden"))) char patchbay_this_module_marker;
__attribute__((weak, visibility("hidden"))) char patchbay_this_module_marker = 0;
#define PATCHBAY_THIS_MODULE ((struct module*)(uintptr_t)&patchbay_this_module_marker)

/* What the header itself calls, when the object is unloaded. */
PATCHBAY_EXPORTED void patchbay_module_gone(void* mod);
__attribute__((weak, visibility("hidden"), destructor(101))) void patchbay_this_module_exit(void);
__attribute__((weak, visibility("hidden"), destructor(101))) void patchbay_this_module_exit(void) {
  patchbay_module_gone(&patchbay_this_module_marker);
}
#endif

#ifdef __cplusplus
}
#endif
#endif
