/* SPDX-License-Identifier: MIT
 *
 * How the headers of the in-process API name their functions. The library exports every function
 * as patchbay_NAME, and the headers always declare it so. They also declare it under the kernel's
 * NAME, as the same function. A program with colliding names of its own defines
 * PATCHBAY_NO_KERNEL_NAMES to leave these out:
 *
 *   PATCHBAY_FUNCTION(int, synth_event_delete, const char* name);
 *     -> int patchbay_synth_event_delete(const char* name);
 *        int synth_event_delete(const char* name) __asm__("patchbay_synth_event_delete");
 *
 * The library exports no function under a kernel's name, except an empty tracing_mark_write, with
 * whose name marker lines begin. So libpatchbay.so changes nothing for a program that has a
 * tracing_on() of its own. C11 and C++.
 */
#ifndef PATCHBAY_API_NAMES_H
#define PATCHBAY_API_NAMES_H

#define PATCHBAY_EXPORTED __attribute__((visibility("default")))

/* PATCHBAY_FUNCTION(return type, NAME, parameters …) declares a function. Without parameters the
 * last argument is `void`. PATCHBAY_FUNCTION_WITH((attributes), …) adds __attribute__((…)) to both
 * declarations. */
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
