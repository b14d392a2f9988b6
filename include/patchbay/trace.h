/* SPDX-License-Identifier: MIT
 *
 * Trace arrays (instances), printk, switching events and recording, snapshots, stacks. With them a
 * program reports about itself into buffers of its own, with no tool attached. The functions, their
 * arguments and their answers are those of Linux 6.12 (include/linux/trace.h,
 * kernel/trace/trace.c); each is also declared as patchbay_NAME (patchbay/api_names.h). C11 and
 * C++; link with -lpatchbay.
 *
 *   struct trace_array* tr = trace_array_get_by_name("rds", NULL);     a buffer of its own
 *   trace_array_init_printk(tr);
 *   trace_array_printk(tr, _THIS_IP_, "drop %d of %s\n", count, peer);
 *   trace_array_set_clr_event(tr, "functions", NULL, true);            events from here on
 *   tracing_snapshot_instance(tr);
 *   trace_array_put(tr); trace_array_destroy(tr);
 *
 * Threads: any thread may call every function at any time, also in constructors and exit handlers.
 *
 * Signal handlers and callbacks: functions marked (signal) take no lock and allocate nothing. They
 * may be called in a signal handler, and record there. The other functions wait for Patchbay's
 * lock. The thread may hold that lock already, when a handler has interrupted one of these
 * functions. In such a handler, and in callbacks (patchbay/ftrace.h, patchbay/subscribe.h) except
 * those of static events, they answer -EDEADLK or NULL, or do nothing. A handler that has
 * interrupted malloc() must not call them.
 *
 * There may be no agent: in a set-user-id program, or after a start that failed. Then functions
 * answer -ESRCH, NULL or 0, or do nothing; nothing crashes. The same holds for changes in a forked
 * child. Lines of printk in a forked child go to its parent's buffers, as its events do.
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
 * An instance has one object as long as the process lives. The instance may be removed, by
 * trace_array_destroy() or by a tool. After that the functions below answer -ENODEV, also when
 * there is another instance of that name; void functions and printk do nothing. */
struct trace_array;

/* Makes an instance: a directory in instances/, with a buffer, events and options of its own. Takes
 * no reference. Never returns NULL. On failure it returns an errno as a pointer (IS_ERR() and
 * PTR_ERR() of patchbay/kernel.h): -EEXIST; -EINVAL, the name is NULL or cannot be a directory's;
 * -ENAMETOOLONG; -ENOMEM; -ENOSPC; -ESRCH; -EDEADLK. */
PATCHBAY_FUNCTION(struct trace_array*, trace_array_create, const char* name);

/* Finds the instance of that name, or makes it. Takes a reference: while there is one, the instance
 * cannot be removed. `systems` restricts an instance that is made to the events of these systems,
 * such as "sched,functions"; NULL means all systems. Returns NULL on failure. */
PATCHBAY_FUNCTION(struct trace_array*, trace_array_get_by_name, const char* name,
                  const char* systems);

/* Gives a reference back. Nothing happens when `tr` is NULL, or has no reference left. */
PATCHBAY_FUNCTION(void, trace_array_put, struct trace_array* tr);

/* Removes an instance with its directory, buffer, triggers and tracers. Returns 0; -EINVAL, `tr` is
 * NULL or the top instance; -ENODEV, it is gone, or `tr` is no instance; -EBUSY, there are
 * references or open files; -ESRCH; -EDEADLK. */
PATCHBAY_FUNCTION(int, trace_array_destroy, struct trace_array* tr);

/* Ends an instance whose owner needs it no more. Returns 0 when it is gone. Returns -EBUSY when
 * others still use it: it records nothing any more, and goes with its last user. -EINVAL, -ENODEV,
 * -ESRCH and -EDEADLK are as above. */
PATCHBAY_EXPORTED int patchbay_trace_array_end(struct trace_array* tr);

/* Takes one more reference; trace_array_put() gives it back. Returns 0, -EINVAL (NULL) or -ENODEV.
 */
PATCHBAY_EXPORTED int patchbay_trace_array_hold(struct trace_array* tr);

/* Walks over the instances. With NULL it returns the first one, which is the top instance,
 * otherwise the one behind `tr`, also when `tr` was removed meanwhile. Returns NULL behind the last
 * one. Takes no reference. */
PATCHBAY_FUNCTION(struct trace_array*, trace_array_next, struct trace_array* tr);
#define patchbay_trace_array_for_each(tr) \
  for ((tr) = patchbay_trace_array_next(NULL); (tr) != NULL; (tr) = patchbay_trace_array_next(tr))

/* Returns the name of its directory, and "" for the top instance or when `tr` is none. The text
 * lives as long as the process. (signal) */
PATCHBAY_FUNCTION(const char*, trace_array_name, const struct trace_array* tr);

/* Switches events of an instance on or off. A `system` or `event` of NULL means all of them.
 * Returns 0; -ENOENT, `tr` is NULL; -EINVAL, there is no such event; -ENODEV; -ESRCH; -EDEADLK; or
 * the errno of an event that cannot be enabled. All events that can be switched are switched. */
PATCHBAY_FUNCTION(int, trace_array_set_clr_event, struct trace_array* tr, const char* system,
                  const char* event, bool enable);
/* The same in the top instance. `set` is 1 for on, 0 for off. */
PATCHBAY_FUNCTION(int, trace_set_clr_event, const char* system, const char* event, int set);
/* The same with a word as set_event takes it: "sched:sched_switch", "sched:", "sched_switch" or
 * "*:*". The function does not change `buf`. A `tr` of NULL is -ENOENT, a `buf` of NULL -EINVAL. */
PATCHBAY_FUNCTION(int, ftrace_set_clr_event, struct trace_array* tr, char* buf, int set);

/* --- Recording ---------------------------------------------------------------------------------
 * These switch recording, and ask for it, as the file tracing_on does: in the top instance, and in
 * any instance. (signal) */
PATCHBAY_FUNCTION(void, tracing_on, void);
PATCHBAY_FUNCTION(void, tracing_off, void);
PATCHBAY_FUNCTION(int, tracing_is_on, void);
PATCHBAY_FUNCTION(void, tracer_tracing_on, struct trace_array* tr);
PATCHBAY_FUNCTION(void, tracer_tracing_off, struct trace_array* tr);
PATCHBAY_FUNCTION(int, tracer_tracing_is_on, struct trace_array* tr); /* 0 when it is gone */

/* --- printk ------------------------------------------------------------------------------------
 *
 * These record a line "function: text". A constant format is recorded by its address, with the
 * arguments; strings are copied. The text is made when the line is read. A format in writable
 * memory is formatted at once, and so is one for which no table has room.
 *
 * Formats are printf's: the conversions d i u x X o c s p f F e E g G a A with their flags, widths,
 * precisions and lengths. From any other conversion on (%n, %ls, %lc, %m, %1$d) the format is plain
 * text. A string that cannot be read is "(fault)". Strings are cut where the arguments exceed 1024
 * bytes.
 *
 * Each function returns the number of bytes that were recorded. It returns 0 when nothing was:
 * recording or the option trace_printk is off, nothing is prepared, or there is no room. (signal)
 */

/* Returns the address of the instruction that stands here, for the parameter `ip`. The name of its
 * function begins the line. */
static inline __attribute__((always_inline, unused)) unsigned long patchbay_this_ip(void) {
#ifdef __x86_64__
  unsigned long ip;
  __asm__("leaq 0(%%rip), %0" : "=r"(ip));
  return ip;
#else
  return (unsigned long)__extension__({
    __label__ here;
  here:
    &&here;
  });
#endif
}
#ifndef PATCHBAY_NO_KERNEL_NAMES
#ifndef _THIS_IP_
#define _THIS_IP_ patchbay_this_ip()
#endif
#ifndef _RET_IP_
#define _RET_IP_ ((unsigned long)__builtin_return_address(0))
#endif
#endif

/* Records a line in an instance. The program has to call trace_array_init_printk() once before, for
 * any instance. Returns -ENOENT when `tr` is NULL, and 0 when it is gone. It returns 0 for the top
 * instance, too: trace_printk() serves that one. */
PATCHBAY_FUNCTION_WITH((format(printf, 3, 4)), int, trace_array_printk, struct trace_array* tr,
                       unsigned long ip, const char* fmt, ...);
/* The same, also into the top instance. */
PATCHBAY_FUNCTION_WITH((format(printf, 3, 0)), int, trace_array_vprintk, struct trace_array* tr,
                       unsigned long ip, const char* fmt, va_list args);
/* Reserves memory for the lines. Signal handlers must not call it. Returns 0, -ENOENT (NULL),
 * -EINVAL (the top instance), -ENODEV, -ENOMEM, -ESRCH or -EDEADLK. */
PATCHBAY_FUNCTION(int, trace_array_init_printk, struct trace_array* tr);

/* trace_printk() and its kin record in the instance that has the option trace_printk_dest, by
 * default the top one. A program that contains a trace_printk() is prepared for it when it starts.
 * Other programs call trace_printk_init_buffers(), which says so on stderr; signal handlers must
 * not call it. */
PATCHBAY_FUNCTION(void, trace_printk_init_buffers, void);
PATCHBAY_FUNCTION_WITH((format(printf, 2, 3)), int, __trace_printk, unsigned long ip,
                       const char* fmt, ...);
PATCHBAY_FUNCTION_WITH((format(printf, 2, 0)), int, __ftrace_vprintk, unsigned long ip,
                       const char* fmt, va_list args);
/* __trace_bputs() records the address of `str` if that is constant, and its bytes otherwise.
 * __trace_puts() always records `size` bytes. */
PATCHBAY_FUNCTION(int, __trace_bputs, unsigned long ip, const char* str);
PATCHBAY_FUNCTION(int, __trace_puts, unsigned long ip, const char* str, int size);

/* The macros below call these when an object that uses them is loaded, before its constructors
 * without a priority run. They prepare the buffers. Programs do not call them. */
PATCHBAY_EXPORTED void patchbay_printk_used(void);
PATCHBAY_EXPORTED void patchbay_dump_stack_used(void);
#ifdef __x86_64__
#define PATCHBAY_AT_LOAD(function)                                         \
  __asm__ volatile(                                                        \
      ".pushsection .init_array.00101,\"aw\",@init_array\n\t.balign 8\n\t" \
      ".quad " #function "\n\t.popsection")
#else /* there is no agent */
#define PATCHBAY_AT_LOAD(function) ((void)0)
#endif

/* trace_printk("x=%d\n", x) records a line as printf prints it, and finds the function by itself.
 */
#define patchbay_trace_printk(...) \
  (patchbay_printk_is_used(), patchbay___trace_printk(patchbay_this_ip(), __VA_ARGS__))
/* trace_puts("here\n") is the cheapest. */
#define patchbay_trace_puts(str)                                                 \
  (patchbay_printk_is_used(),                                                    \
   __builtin_constant_p(str) ? patchbay___trace_bputs(patchbay_this_ip(), (str)) \
                             : patchbay___trace_puts(patchbay_this_ip(), (str), (int)strlen(str)))
static inline __attribute__((always_inline, unused)) void patchbay_printk_is_used(void) {
  PATCHBAY_AT_LOAD(patchbay_printk_used);
}

/* --- Stacks ------------------------------------------------------------------------------------
 * Records the stack of the caller without its first `skip` functions, in the instance that
 * trace_printk() uses. The record is that of the trigger stacktrace. (signal) */
PATCHBAY_FUNCTION(void, __trace_dump_stack, int skip);
#define patchbay_trace_dump_stack(skip) \
  (patchbay_dump_stack_is_used(), patchbay___trace_dump_stack(skip))
static inline __attribute__((always_inline, unused)) void patchbay_dump_stack_is_used(void) {
  PATCHBAY_AT_LOAD(patchbay_dump_stack_used);
}

/* --- Snapshots ---------------------------------------------------------------------------------
 *
 * A snapshot moves the present content of the buffer to a spare buffer, which is read as the file
 * `snapshot`. Recording goes on in the empty buffer. Without a spare buffer a snapshot writes a
 * notice into the trace and stops the recording of that instance, as in the kernel.
 */
PATCHBAY_FUNCTION(void, tracing_snapshot, void); /* of the top instance */
PATCHBAY_FUNCTION(void, tracing_snapshot_instance, struct trace_array* tr);
/* Makes the spare buffer of the top instance, or of `tr`. Returns 0; -EBUSY, `trace` or `snapshot`
 * is open for reading; -ENOMEM; -ESRCH; -EDEADLK; for an instance that is gone -ENODEV. */
PATCHBAY_FUNCTION(int, tracing_alloc_snapshot, void);
PATCHBAY_FUNCTION(int, tracing_alloc_snapshot_instance, struct trace_array* tr);
/* Makes the spare buffer of the top instance and takes a snapshot. */
PATCHBAY_FUNCTION(void, tracing_snapshot_alloc, void);

/* Decides whether a conditional snapshot is taken. It runs in the thread that asks for one. */
typedef bool (*cond_update_fn_t)(struct trace_array* tr, void* cond_data);
/* Makes the snapshots of the instance conditional: a `1` in its file snapshot is EBUSY, and
 * tracing_snapshot_cond() asks `update`. Returns 0; -EBUSY, they are conditional already; -EINVAL,
 * `tr` or `update` is NULL; -ENODEV; -ENOMEM; -ESRCH; -EDEADLK. */
PATCHBAY_FUNCTION(int, tracing_snapshot_cond_enable, struct trace_array* tr, void* cond_data,
                  cond_update_fn_t update);
/* Makes them unconditional again. Returns 0; -EINVAL, they are not conditional; -ENODEV; -ESRCH;
 * -EDEADLK. */
PATCHBAY_FUNCTION(int, tracing_snapshot_cond_disable, struct trace_array* tr);
/* Takes a snapshot if `update` returns true for `cond_data`. Without a condition it always takes
 * one. The other functions that take snapshots ask `update` with NULL. */
PATCHBAY_FUNCTION(void, tracing_snapshot_cond, struct trace_array* tr, void* cond_data);
/* Returns the `cond_data` of tracing_snapshot_cond_enable(), or NULL when snapshots are not
 * conditional. */
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
