/* SPDX-License-Identifier: MIT
 *
 * Trace arrays (instances), printk, switching events and recording, snapshots, stacks: what a
 * program says about itself, into buffers of its own, with no tool attached. The functions, their
 * arguments and their answers are those of Linux's kernel/trace; each is also declared as
 * patchbay_NAME (api_names.h). C11 and C++; link with -lpatchbay.
 *
 *   struct trace_array* tr = trace_array_get_by_name("rds", NULL);     a buffer of its own
 *   trace_array_init_printk(tr);
 *   trace_array_printk(tr, _THIS_IP_, "drop %d of %s\n", count, peer);
 *   trace_array_set_clr_event(tr, "functions", NULL, true);            from here on
 *   tracing_snapshot_instance(tr);
 *   trace_array_put(tr); trace_array_destroy(tr);
 *
 * Threads. Every function may be called from any thread at any time, also in constructors and exit
 * handlers.
 *
 * Signal handlers, callbacks. Those marked (signal) take no lock and allocate nothing: they may be
 * called in a signal handler and record there. The others wait for Patchbay's lock; where this
 * thread may hold it already (a handler that interrupted one of these functions), and in callbacks
 * (patchbay/ftrace.h, patchbay/subscribe.h) but those of static events, they answer -EDEADLK, NULL,
 * or do nothing. A handler that interrupted malloc() must not call them.
 *
 * Without an agent (a set-user-id program, a start that failed) and for changes in a forked child,
 * functions answer -ESRCH, NULL or 0, or do nothing; nothing crashes. Lines of printk in a forked
 * child go where its parent's go, as its events do.
 */
#ifndef PATCHBAY_TRACE_H
#define PATCHBAY_TRACE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <patchbay/api_names.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Trace arrays ------------------------------------------------------------------------------
 *
 * One object for each instance, for as long as the process lives: after the instance was removed,
 * by trace_array_destroy() or by a tool, the functions below answer -ENODEV (void ones and printk:
 * nothing happens), also when there is another instance of that name. */
struct trace_array;

/* Makes an instance: a directory in instances/, with a buffer, events and options of its own. No
 * reference is taken. Never NULL: an errno as a pointer (IS_ERR() and PTR_ERR() of
 * patchbay/kernel.h): -EEXIST, -EINVAL (NULL, or no name for a directory), -ENAMETOOLONG, -ENOMEM,
 * -ENOSPC, -ESRCH, -EDEADLK. */
PATCHBAY_FUNCTION(struct trace_array*, trace_array_create, const char* name);

/* The instance of that name, which is made if there is none; NULL on failure. Takes a reference:
 * while there is one, the instance is not removed. `systems`: only the events of these systems are
 * in an instance that is made, "sched,functions"; NULL: all. */
PATCHBAY_FUNCTION(struct trace_array*, trace_array_get_by_name, const char* name,
                  const char* systems);

/* Gives a reference back. NULL, and one reference too many: nothing happens. */
PATCHBAY_FUNCTION(void, trace_array_put, struct trace_array* tr);

/* Removes an instance: its directory, buffer, triggers, tracers. 0, -EINVAL (NULL, the top
 * instance), -ENODEV (it is gone, or `tr` is none), -EBUSY (references, open files), -ESRCH,
 * -EDEADLK. */
PATCHBAY_FUNCTION(int, trace_array_destroy, struct trace_array* tr);

/* For an owner who ends: 0, it is gone; -EBUSY: others use it, it records nothing any more, and
 * goes with its last user. -EINVAL, -ENODEV, -ESRCH, -EDEADLK as above. */
PATCHBAY_EXPORTED int patchbay_trace_array_end(struct trace_array* tr);

/* Takes one more reference, to be given back by trace_array_put(). 0, -EINVAL (NULL), -ENODEV. */
PATCHBAY_EXPORTED int patchbay_trace_array_hold(struct trace_array* tr);

/* The first instance (NULL), which is the top one, or the next; NULL: there are no more. Takes no
 * reference. An instance that was removed is gone on from. */
PATCHBAY_FUNCTION(struct trace_array*, trace_array_next, struct trace_array* tr);
#define patchbay_trace_array_for_each(tr) \
  for ((tr) = patchbay_trace_array_next(NULL); (tr) != NULL; (tr) = patchbay_trace_array_next(tr))

/* The name of its directory, "" of the top one and of what is none. Stays as long as the process.
 * (signal) */
PATCHBAY_FUNCTION(const char*, trace_array_name, const struct trace_array* tr);

/* Switches events of an instance. NULL: every system, every event. 0, -ENOENT (NULL `tr`), -EINVAL
 * (there is no such event), -ENODEV, -ESRCH, -EDEADLK, and what enabling may answer: of several
 * events those that can be switched are. */
PATCHBAY_FUNCTION(int, trace_array_set_clr_event, struct trace_array* tr, const char* system,
                  const char* event, bool enable);
/* The same in the top instance; `set`: 1 on, 0 off. */
PATCHBAY_FUNCTION(int, trace_set_clr_event, const char* system, const char* event, int set);
/* The same with a word as set_event takes it: "sched:sched_switch", "sched:", "sched_switch",
 * "*:*". `buf` is left as it is. NULL `tr`: -ENOENT, NULL `buf`: -EINVAL. */
PATCHBAY_FUNCTION(int, ftrace_set_clr_event, struct trace_array* tr, char* buf, int set);

/* --- Recording ---------------------------------------------------------------------------------
 * What tracing_on says, of the top instance and of any. (signal) */
PATCHBAY_FUNCTION(void, tracing_on, void);
PATCHBAY_FUNCTION(void, tracing_off, void);
PATCHBAY_FUNCTION(int, tracing_is_on, void);
PATCHBAY_FUNCTION(void, tracer_tracing_on, struct trace_array* tr);
PATCHBAY_FUNCTION(void, tracer_tracing_off, struct trace_array* tr);
PATCHBAY_FUNCTION(int, tracer_tracing_is_on, struct trace_array* tr); /* 0 of what is gone */

/* --- printk ------------------------------------------------------------------------------------
 *
 * A line in a buffer: "function: text". A constant format is recorded by its address, with the
 * arguments (strings are copied); the text is made when the line is read. A format in memory that
 * can be written, or what no table has room for, is written out at once. printf's conversions d i u
 * x X o c s p f F e E g G a A with their flags, widths, precisions and lengths; what stands behind
 * any other (%n, %ls, %lc, %m, %1$d) is text. A string that cannot be read is "(fault)". Strings
 * are cut where the arguments exceed a kilobyte.
 *
 * All of these: (signal). The answer is how many bytes were recorded; 0: nothing was, because
 * recording, or the option trace_printk, is off, nothing is prepared, or there is no room.
 */

/* The instruction that stands here, for `ip`: the name of its function begins the line. */
static inline __attribute__((always_inline, unused)) unsigned long patchbay_this_ip(void) {
  unsigned long ip;
  __asm__("leaq 0(%%rip), %0" : "=r"(ip));
  return ip;
}
#ifndef PATCHBAY_NO_KERNEL_NAMES
#ifndef _THIS_IP_
#define _THIS_IP_ patchbay_this_ip()
#endif
#ifndef _RET_IP_
#define _RET_IP_ ((unsigned long)__builtin_return_address(0))
#endif
#endif

/* Into an instance; needs trace_array_init_printk() once, of any instance. -ENOENT (NULL); 0 for
 * the top instance, which trace_printk() is for, and for what is gone. */
PATCHBAY_FUNCTION_WITH((format(printf, 3, 4)), int, trace_array_printk, struct trace_array* tr,
                       unsigned long ip, const char* fmt, ...);
/* The same, also into the top instance. */
PATCHBAY_FUNCTION_WITH((format(printf, 3, 0)), int, trace_array_vprintk, struct trace_array* tr,
                       unsigned long ip, const char* fmt, va_list args);
/* Reserves memory. Not for signal handlers. 0, -ENOENT (NULL), -EINVAL (the top instance), -ENODEV,
 * -ENOMEM, -ESRCH, -EDEADLK. */
PATCHBAY_FUNCTION(int, trace_array_init_printk, struct trace_array* tr);

/* Into the instance with the option trace_printk_dest, by default the top one. A program that
 * contains a trace_printk() is prepared for it when it starts; others by this, which says so on
 * stderr. Not for signal handlers. */
PATCHBAY_FUNCTION(void, trace_printk_init_buffers, void);
PATCHBAY_FUNCTION_WITH((format(printf, 2, 3)), int, __trace_printk, unsigned long ip,
                       const char* fmt, ...);
PATCHBAY_FUNCTION_WITH((format(printf, 2, 0)), int, __ftrace_vprintk, unsigned long ip,
                       const char* fmt, va_list args);
/* `str` by its address, if it is constant; else, and always by the other, its bytes. */
PATCHBAY_FUNCTION(int, __trace_bputs, unsigned long ip, const char* str);
PATCHBAY_FUNCTION(int, __trace_puts, unsigned long ip, const char* str, int size);

/* Prepares for trace_printk() when the object that contains one is loaded, before its constructors
 * without a priority run. */
PATCHBAY_EXPORTED void patchbay_printk_used(void);
PATCHBAY_EXPORTED void patchbay_dump_stack_used(void);
#define PATCHBAY_AT_LOAD(function)                                         \
  __asm__ volatile(                                                        \
      ".pushsection .init_array.00101,\"aw\",@init_array\n\t.balign 8\n\t" \
      ".quad " #function "\n\t.popsection")

/* trace_printk("x=%d\n", x): as printf, with the line's function found by itself. */
#define patchbay_trace_printk(...) \
  (patchbay_printk_is_used(), patchbay___trace_printk(patchbay_this_ip(), __VA_ARGS__))
/* trace_puts("here\n"): the cheapest. */
#define patchbay_trace_puts(str)                                                 \
  (patchbay_printk_is_used(),                                                    \
   __builtin_constant_p(str) ? patchbay___trace_bputs(patchbay_this_ip(), (str)) \
                             : patchbay___trace_puts(patchbay_this_ip(), (str), (int)strlen(str)))
static inline __attribute__((always_inline, unused)) void patchbay_printk_is_used(void) {
  PATCHBAY_AT_LOAD(patchbay_printk_used);
}

/* --- Stacks ------------------------------------------------------------------------------------
 * The stack of the caller, without its `skip` first functions, as a record of its own where
 * trace_printk() goes; as the trigger stacktrace writes it. (signal) */
PATCHBAY_FUNCTION(void, __trace_dump_stack, int skip);
#define patchbay_trace_dump_stack(skip) \
  (patchbay_dump_stack_is_used(), patchbay___trace_dump_stack(skip))
static inline __attribute__((always_inline, unused)) void patchbay_dump_stack_is_used(void) {
  PATCHBAY_AT_LOAD(patchbay_dump_stack_used);
}

/* --- Snapshots ---------------------------------------------------------------------------------
 *
 * A snapshot keeps what is in the buffer now, in a spare buffer that is read as `snapshot`;
 * recording goes on in the emptied one. Without a spare buffer a snapshot says so in the trace and
 * stops the recording of that instance, as in the kernel.
 */
PATCHBAY_FUNCTION(void, tracing_snapshot, void); /* of the top instance */
PATCHBAY_FUNCTION(void, tracing_snapshot_instance, struct trace_array* tr);
/* Makes the spare buffer of the top instance. 0, -EBUSY (`trace` or `snapshot` is open for
 * reading), -ENOMEM, -ESRCH, -EDEADLK. */
PATCHBAY_FUNCTION(int, tracing_alloc_snapshot, void);
PATCHBAY_FUNCTION(int, tracing_alloc_snapshot_instance, struct trace_array* tr); /* -ENODEV */
/* Both, one after the other. */
PATCHBAY_FUNCTION(void, tracing_snapshot_alloc, void);

/* Decides whether a conditional snapshot is taken; in the thread that asks for one. */
typedef bool (*cond_update_fn_t)(struct trace_array* tr, void* cond_data);
/* From now on snapshots of the instance are conditional: `1` in its file snapshot is EBUSY, and
 * tracing_snapshot_cond() asks `update`. 0, -EBUSY (they are already), -EINVAL (NULL), -ENODEV,
 * -ENOMEM, -ESRCH, -EDEADLK. */
PATCHBAY_FUNCTION(int, tracing_snapshot_cond_enable, struct trace_array* tr, void* cond_data,
                  cond_update_fn_t update);
/* 0, -EINVAL (they are not conditional), -ENODEV, -ESRCH, -EDEADLK. */
PATCHBAY_FUNCTION(int, tracing_snapshot_cond_disable, struct trace_array* tr);
/* Takes a snapshot if `update` says so, which gets `cond_data`; without conditions always. The
 * other functions ask `update` with NULL. */
PATCHBAY_FUNCTION(void, tracing_snapshot_cond, struct trace_array* tr, void* cond_data);
/* What tracing_snapshot_cond_enable() was given; NULL: they are not conditional. */
PATCHBAY_FUNCTION(void*, tracing_cond_snapshot_data, struct trace_array* tr);

#ifndef PATCHBAY_NO_KERNEL_NAMES
#define trace_printk(...) patchbay_trace_printk(__VA_ARGS__)
#define trace_puts(str) patchbay_trace_puts(str)
#define trace_dump_stack(skip) patchbay_trace_dump_stack(skip)
#define trace_array_for_each(tr) patchbay_trace_array_for_each(tr)
#endif

#ifdef __cplusplus
}
#endif
#endif
