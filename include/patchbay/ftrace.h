/* SPDX-License-Identifier: MIT
 *
 * Function tracers of the program itself: a callback of its own at the entry of any function,
 * beside every other tracer at the same call site, under the kernel's names and with its results
 * (patchbay/api_names.h: and as patchbay_NAME). C11 and C++; the program is linked with
 * libpatchbay.
 *
 *   static void seen(unsigned long ip, unsigned long parent_ip, struct ftrace_ops* ops,
 *                    struct ftrace_regs* fregs) { … ftrace_regs_get_argument(fregs, 0) … }
 *   static struct ftrace_ops ops = {.func = seen};
 *   ftrace_set_filter(&ops, (unsigned char*)"queue_*", 7, 0);
 *   register_ftrace_function(&ops);
 *   …
 *   unregister_ftrace_function(&ops);     nobody is in seen() any more: its library may go
 *
 * A callback runs in the thread that calls the traced function, before its first instruction, maybe
 * in a signal handler: what is allowed in a signal handler is allowed there, and errno has to be
 * left as it was. All registers of the traced function are kept. It must return: no longjmp, no
 * exception. What it calls is traced by
 * other tracers as ever, but a hit inside of a callback calls no callback (counted:
 * patchbay_ftrace_missed()). Forked children call none. Those of a library that is unloaded go with
 * it (patchbay/this_module.h), and those whose ops it holds.
 *
 * Results are 0 or a negative errno; -ESRCH: no agent runs in this process (or it is a forked
 * child); -EDEADLK: the thread is inside Patchbay already, or in a callback. All functions but
 * those with ftrace_regs may be called from any thread, but not from signal handlers; they wait
 * while another command is being carried out.
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

/* ip: the traced function's entry. parent_ip: where it returns to. ops: the one that was
 * registered. fregs: for the functions below, as long as the callback runs. */
typedef void (*ftrace_func_t)(unsigned long ip, unsigned long parent_ip, struct ftrace_ops* ops,
                              struct ftrace_regs* fregs);

/* All zero but for what the program sets; must stay where it is until it is unregistered and its
 * filters are freed. */
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
/* Taken, and without effect here: registers are always there, recursion is always refused. */
#define FTRACE_OPS_FL_SAVE_REGS (1UL << 2)
#define FTRACE_OPS_FL_SAVE_REGS_IF_SUPPORTED (1UL << 3)
#define FTRACE_OPS_FL_RECURSION (1UL << 4)

/* From now on the functions of its filters call ops->func: all that can be traced when it has none.
 * -EINVAL: no ops, or none of its func. -EBUSY: it is registered. Functions that
 * cannot be patched are passed over (debug/refused_functions). */
PATCHBAY_FUNCTION(int, register_ftrace_function, struct ftrace_ops* ops);
/* Waits until no thread is in ops->func. -EINVAL: no ops. -EBUSY: it is not registered; or it was,
 * and will not be called again, but some thread is in it since 10 seconds: then its code and ops
 * have to stay. */
PATCHBAY_FUNCTION(int, unregister_ftrace_function, struct ftrace_ops* ops);

/* Which functions: `buf`, of `len` bytes, is a line as for set_ftrace_filter: a glob, a name,
 * PATTERN:mod:LIBRARY, with ! in front to take away. `reset`: instead of what there is, and with
 * buf NULL: all functions (of the notrace filter: none is left out). Before and after registration.
 * -EINVAL: no ops, or no function is meant. */
PATCHBAY_FUNCTION(int, ftrace_set_filter, struct ftrace_ops* ops, unsigned char* buf, int len,
                  int reset);
PATCHBAY_FUNCTION(int, ftrace_set_notrace, struct ftrace_ops* ops, unsigned char* buf, int len,
                  int reset);
/* By the address of a function's entry. -ENOENT: none that can be traced begins there. */
PATCHBAY_FUNCTION(int, ftrace_set_filter_ip, struct ftrace_ops* ops, unsigned long ip, int remove,
                  int reset);
PATCHBAY_FUNCTION(int, ftrace_set_filter_ips, struct ftrace_ops* ops, unsigned long* ips,
                  unsigned int count, int remove, int reset);
/* The filters go; of an ops that is not registered, all that Patchbay keeps of it. */
PATCHBAY_FUNCTION(void, ftrace_free_filter, struct ftrace_ops* ops);
/* Those of the function tracer of the top instance: set_ftrace_filter, set_ftrace_notrace. Errors
 * are in its error_log. */
PATCHBAY_FUNCTION(int, ftrace_set_global_filter, unsigned char* buf, int len, int reset);
PATCHBAY_FUNCTION(int, ftrace_set_global_notrace, unsigned char* buf, int len, int reset);

/* Hits that did not call it, because their thread was in a callback. */
PATCHBAY_EXPORTED uint64_t patchbay_ftrace_missed(const struct ftrace_ops* ops);

/* In a callback only; async-signal-safe. */
/* Integer and pointer arguments of the traced function by their number from 0: six in registers,
 * further ones as words of the stack. What lies behind the last argument is anything. */
PATCHBAY_FUNCTION(unsigned long, ftrace_regs_get_argument, struct ftrace_regs* fregs,
                  unsigned int n);
PATCHBAY_FUNCTION(unsigned long, ftrace_regs_get_instruction_pointer, struct ftrace_regs* fregs);
/* Where the return address stands. */
PATCHBAY_FUNCTION(unsigned long, ftrace_regs_get_stack_pointer, struct ftrace_regs* fregs);

#ifdef __cplusplus
}
#endif
#endif
