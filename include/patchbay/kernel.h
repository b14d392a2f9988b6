/* SPDX-License-Identifier: MIT
 *
 * Names that code written for the kernel's tracing interface takes for granted: short names of
 * integers, allocation, error pointers, THIS_MODULE. With this header such code compiles here as it
 * stands. No other header of Patchbay includes it, so a program that has such names itself can do
 * without. C11 and C++.
 */
#ifndef PATCHBAY_KERNEL_H
#define PATCHBAY_KERNEL_H

#include <errno.h>
#include <patchbay/trace_events.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#endif
#ifndef ENOTSUPP
#define ENOTSUPP \
  524 /* the kernel's own: synth_event_trace_start() of an event with texts of any length */
#endif
#define THIS_MODULE PATCHBAY_THIS_MODULE

/* --- memory: GFP flags have no meaning here */
#define GFP_KERNEL 0u
#define GFP_ATOMIC 0u
#ifdef __cplusplus
/* Converts to a pointer of any type, as void* does in C. */
struct patchbay_allocated {
  void* memory;
  template <typename T>
  operator T*() const {
    return static_cast<T*>(memory);
  }
};
static inline patchbay_allocated kzalloc(size_t size, unsigned int) { return {calloc(1, size)}; }
static inline patchbay_allocated kmalloc(size_t size, unsigned int) { return {malloc(size)}; }
#else
static inline void* kzalloc(size_t size, unsigned int gfp) {
  (void)gfp;
  return calloc(1, size);
}
static inline void* kmalloc(size_t size, unsigned int gfp) {
  (void)gfp;
  return malloc(size);
}
#endif
static inline void kfree(const void* memory) { free((void*)(uintptr_t)memory); }

/* --- pointers that are an errno */
#define PATCHBAY_MAX_ERRNO 4095
static inline bool IS_ERR(const void* pointer) {
  return (uintptr_t)pointer >= (uintptr_t)-PATCHBAY_MAX_ERRNO;
}
static inline bool IS_ERR_OR_NULL(const void* pointer) { return !pointer || IS_ERR(pointer); }
static inline long PTR_ERR(const void* pointer) { return (long)(intptr_t)pointer; }
static inline int PTR_ERR_OR_ZERO(const void* pointer) {
  return IS_ERR(pointer) ? (int)PTR_ERR(pointer) : 0;
}
#ifdef __cplusplus
static inline patchbay_allocated ERR_PTR(long error) { return {(void*)(intptr_t)error}; }
#else
static inline void* ERR_PTR(long error) { return (void*)(intptr_t)error; }
#endif

/* --- the processor that this thread runs on; it may be another one a moment later */
#ifdef __cplusplus
extern "C" {
#endif
int patchbay_current_cpu(void) __asm__("sched_getcpu");
#ifdef __cplusplus
}
#endif
static inline int smp_processor_id(void) { return patchbay_current_cpu(); }

#endif
