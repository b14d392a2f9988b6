/* SPDX-License-Identifier: MIT
 *
 * Tells Patchbay into which executable or library a call of the in-process API is compiled, and
 * when that library is unloaded. The headers that need it include it. C11 and C++.
 *
 *   dlclose(library) -> the destructor below, behind the library's own -> patchbay_module_gone()
 *
 * When a library is unloaded, Patchbay removes the events that the library owns
 * (PATCHBAY_THIS_MODULE in patchbay/trace_events.h), and its callbacks that are still registered
 * (patchbay/ftrace.h) or subscribed (patchbay/subscribe.h). No hit calls them any more before the
 * code is unmapped. Patchbay waits for threads that are in such a callback, at most two seconds in
 * all; it also does so when the process ends. A thread may stay in a callback longer, or unload the
 * library from inside of one. Such a thread returns into memory that is gone, as it would from any
 * other function of the library.
 */
#ifndef PATCHBAY_THIS_MODULE_H
#define PATCHBAY_THIS_MODULE_H

#include <patchbay/api_names.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Patchbay's own sources are no such object. */
#ifndef PATCHBAY_OWN_SOURCE
extern __attribute__((weak, visibility("hidden"))) char patchbay_this_module_marker;
__attribute__((weak, visibility("hidden"))) char patchbay_this_module_marker = 0;
#define PATCHBAY_THIS_MODULE ((struct module*)(uintptr_t)&patchbay_this_module_marker)

/* The destructor below calls this function when the object is unloaded. Programs do not call it. */
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
