/* SPDX-License-Identifier: MIT
 *
 * Function tracers of the program itself: a callback of the program at the entry of any function,
 * beside every other tracer at the same call site. The names, arguments and results are those of
 * the kernel's include/linux/ftrace.h; each function is also declared as patchbay_NAME
 * (patchbay/api_names.h). C11 and C++; the program is linked with libpatchbay.
 *
 *   static void seen(unsigned long ip, unsigned long parent_ip, struct ftrace_ops* ops,
 *                    struct ftrace_regs* fregs) { … ftrace_regs_get_argument(fregs, 0) … }
 *   static struct ftrace_ops ops = {.func = seen};
 *   ftrace_set_filter(&ops, (unsigned char*)"queue_*", 7, 0);
 *   register_ftrace_function(&ops);
 *   …
 *   unregister_ftrace_function(&ops);     no thread is in seen() any more: its library may go
 *
 * A callback runs in the thread that calls the traced function, before the function's first
 * instruction, and maybe in a signal handler. It may do what a signal handler may do. It has to
 * leave errno as it was, and it must return: no longjmp, no exception. All registers of the traced
 * function are kept.
 *
 * Other tracers trace the functions that a callback calls. A hit inside of a callback calls no
 * callback; patchbay_ftrace_missed() counts it. Forked children call no callbacks. When a library
 * is unloaded, its callbacks are unregistered, and so are callbacks whose ops it holds
 * (patchbay/this_module.h).
 *
 * Functions return 0 or a negative errno. All of them may return:
 *
 *   -ESRCH    no agent runs in this process, or it is a forked child
 *   -EDEADLK  the thread is inside Patchbay already, or in a callback
 *
 * Threads: any thread may call these functions. They wait while another command is being carried
 * out. Signal handlers may call those with ftrace_regs only.
 */
#ifndef PATCHBAY_FTRACE_H
#define PATCHBAY_FTRACE_H

#include <patchbay/api_names.h>
#include <patchbay/this_module.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ftrace_ops;
struct ftrace_regs;

/* `ip` is the entry of the traced function, `parent_ip` the address to which it returns, and `ops`
 * the structure that was registered. `fregs` serves the ftrace_regs functions below, and is valid
 * as long as the callback runs. */
typedef void (*ftrace_func_t)(unsigned long ip, unsigned long parent_ip, struct ftrace_ops* ops,
                              struct ftrace_regs* fregs);

/* A tracer. All members are zero but those that the program sets. The structure must stay where it
 * is until it is unregistered and its filters are freed. */
struct ftrace_ops {
  ftrace_func_t func;
  unsigned long flags; /* FTRACE_OPS_FL_… */
#ifdef __cplusplus
  void* private_data; /* `private` in C */
#else
  void* private; /* the program's */
#endif
  uint64_t patchbay_id; /* Patchbay's; 0 at first */
  uint64_t patchbay_reserved[4]; /* for later versions; 0 */
};

/* Set by register_ftrace_function(), cleared by unregister_ftrace_function(). */
#define FTRACE_OPS_FL_ENABLED (1UL << 0)
/* These are accepted and have no effect: registers are always there, and recursion is always
 * refused. */
#define FTRACE_OPS_FL_SAVE_REGS (1UL << 2)
#define FTRACE_OPS_FL_SAVE_REGS_IF_SUPPORTED (1UL << 3)
#define FTRACE_OPS_FL_RECURSION (1UL << 4)
/* Patchbay's own: neither func nor anything that it calls uses a vector, mask or x87 register. Then
 * none has to be kept for the function that was called, and a call costs half. The compiler sees to
 * it in `__attribute__((target("general-regs-only")))`; libc's functions do use them. To say it
 * where it is not so destroys values of the program. */
#define PATCHBAY_OPS_FL_GENERAL_REGS (1UL << 31)

/* From now on the functions that match the filters call ops->func. Without a filter these are all
 * functions that can be traced. Functions that cannot be patched are passed over
 * (debug/refused_functions). -EINVAL: `ops` or its func is NULL. -EBUSY: it is registered already.
 */
PATCHBAY_FUNCTION(int, register_ftrace_function, struct ftrace_ops* ops);
/* Ends the calls, and waits until no thread is in ops->func. -EINVAL: `ops` is NULL. -EBUSY has two
 * meanings: the callback is not registered; or it will not be called again, but a thread has been
 * in it for 10 seconds. In the second case its code and ops have to stay. */
PATCHBAY_FUNCTION(int, unregister_ftrace_function, struct ftrace_ops* ops);

/* Chooses functions, before or after registration. `buf`, of `len` bytes, is a line as for
 * set_ftrace_filter: a glob, a name, or PATTERN:mod:LIBRARY. A `!` in front takes functions away.
 * With `reset` the line replaces the filter. With `reset` and a `buf` of NULL the filter becomes
 * empty: all functions are traced, or none is left out. -EINVAL: `ops` is NULL, or the line means
 * no function. */
PATCHBAY_FUNCTION(int, ftrace_set_filter, struct ftrace_ops* ops, unsigned char* buf, int len,
                  int reset);
PATCHBAY_FUNCTION(int, ftrace_set_notrace, struct ftrace_ops* ops, unsigned char* buf, int len,
                  int reset);
/* Chooses functions by the addresses of their entries. -ENOENT: no function that can be traced
 * begins there. */
PATCHBAY_FUNCTION(int, ftrace_set_filter_ip, struct ftrace_ops* ops, unsigned long ip, int remove,
                  int reset);
PATCHBAY_FUNCTION(int, ftrace_set_filter_ips, struct ftrace_ops* ops, unsigned long* ips,
                  unsigned int count, int remove, int reset);
/* Frees the filters of `ops`. If it is not registered, Patchbay keeps nothing of it any more. */
PATCHBAY_FUNCTION(void, ftrace_free_filter, struct ftrace_ops* ops);
/* These set the filters of the function tracer of the top instance, as its files set_ftrace_filter
 * and set_ftrace_notrace do. Errors are in its error_log. */
PATCHBAY_FUNCTION(int, ftrace_set_global_filter, unsigned char* buf, int len, int reset);
PATCHBAY_FUNCTION(int, ftrace_set_global_notrace, unsigned char* buf, int len, int reset);

/* Returns the number of hits that did not call ops->func: their thread was in a callback. */
PATCHBAY_EXPORTED uint64_t patchbay_ftrace_missed(const struct ftrace_ops* ops);

/* The following may be called in a callback only. They are async-signal-safe. */

/* Returns an integer or pointer argument of the traced function by its number, from 0. The first
 * six come from registers, further ones are words of the stack. The value behind the last argument
 * is undefined. */
PATCHBAY_FUNCTION(unsigned long, ftrace_regs_get_argument, struct ftrace_regs* fregs,
                  unsigned int n);
PATCHBAY_FUNCTION(unsigned long, ftrace_regs_get_instruction_pointer, struct ftrace_regs* fregs);
/* Returns the address at which the return address stands. */
PATCHBAY_FUNCTION(unsigned long, ftrace_regs_get_stack_pointer, struct ftrace_regs* fregs);

#ifdef __cplusplus
}
#endif
#endif
