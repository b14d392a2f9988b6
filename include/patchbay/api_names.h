/* SPDX-License-Identifier: MIT
 *
 * How the headers of the in-process API name their functions. Every function is exported as
 * patchbay_NAME and declared so, always; and it is declared under the kernel's NAME as well, as the
 * same function, unless the program has defined PATCHBAY_NO_KERNEL_NAMES because it has names of
 * its own that collide:
 *
 *   PATCHBAY_FUNCTION(int, synth_event_delete, const char* name);
 *     -> int patchbay_synth_event_delete(const char* name);
 *        int synth_event_delete(const char* name) __asm__("patchbay_synth_event_delete");
 *
 * No function of the kernel's name is exported (but an empty tracing_mark_write, the name that
 * marker lines begin with), so libpatchbay.so in a process that has a tracing_on() of its own
 * changes nothing for it. C11 and C++.
 */
#ifndef PATCHBAY_API_NAMES_H
#define PATCHBAY_API_NAMES_H

#define PATCHBAY_EXPORTED __attribute__((visibility("default")))

/* PATCHBAY_FUNCTION(return type, NAME, parameters …); parameters: `void` where there are none.
 * PATCHBAY_FUNCTION_WITH((attributes), …) for __attribute__((…)) of both declarations. */
#ifdef PATCHBAY_NO_KERNEL_NAMES
#define PATCHBAY_FUNCTION(type, name, ...) PATCHBAY_EXPORTED type patchbay_##name(__VA_ARGS__)
#define PATCHBAY_FUNCTION_WITH(attributes, type, name, ...) \
  PATCHBAY_EXPORTED __attribute__(attributes) type patchbay_##name(__VA_ARGS__)
#else
#define PATCHBAY_FUNCTION(type, name, ...)             \
  PATCHBAY_EXPORTED type patchbay_##name(__VA_ARGS__); \
  PATCHBAY_EXPORTED type name(__VA_ARGS__) __asm__("patchbay_" #name)
#define PATCHBAY_FUNCTION_WITH(attributes, type, name, ...)                      \
  PATCHBAY_EXPORTED __attribute__(attributes) type patchbay_##name(__VA_ARGS__); \
  PATCHBAY_EXPORTED __attribute__(attributes) type name(__VA_ARGS__) __asm__("patchbay_" #name)
#endif

#endif
