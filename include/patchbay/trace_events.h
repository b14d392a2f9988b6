/* SPDX-License-Identifier: MIT
 *
 * The program defines and records events of its own: synthetic events, probes, and commands for
 * both that are put together piece by piece. These are the functions that kernel modules have,
 * under the same names and with the same results (patchbay/api_names.h: and as patchbay_NAME). What
 * else such code takes for granted (u64, kzalloc, IS_ERR, THIS_MODULE …) is in patchbay/kernel.h.
 * C11 and C++; the program is linked with libpatchbay.
 *
 *   struct synth_field_desc fields[] = {{"pid_t", "next_pid"}, {"char[16]", "next_comm"}};
 *   synth_event_create("sched", fields, 2, PATCHBAY_THIS_MODULE);
 *   struct trace_event_file* file = trace_get_event_file(NULL, "synthetic", "sched");
 *   … somebody enables it: events/synthetic/sched/enable, trace_array_set_clr_event() …
 *   synth_event_trace(file, 2, (uint64_t)pid, (uint64_t)comm);
 *   trace_put_event_file(file);
 *   synth_event_delete("sched");
 *
 * Results are 0 or a negative errno; pointers may be an errno as well, which IS_ERR() of
 * patchbay/kernel.h tells. For all functions here:
 *
 *   -ESRCH   no agent runs in this process: Patchbay is not loaded or could not start, the program
 *            is set-user-id, its constructors have not run yet, or this is a forked child
 *   -EDEADLK from those that change something, when the thread is inside Patchbay already: in a
 *            signal handler that interrupted it, or in a callback but of a static event
 *   -ENOMEM  no memory
 *   -EINVAL  an argument is NULL that must not be
 *
 * Threads: every function may be called from any thread. Those that record (synth_event_trace…,
 * synth_event_add…) may be called from signal handlers and from forked children too; they take no
 * lock and no memory, and leave errno alone. The others wait while another command is being carried
 * out, and must not be called from signal handlers.
 */
#ifndef PATCHBAY_TRACE_EVENTS_H
#define PATCHBAY_TRACE_EVENTS_H

#include <patchbay/api_names.h>
#include <patchbay/this_module.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- the calling shared object ---------------------------------------------------------------- */

/* Who an event belongs to: PATCHBAY_THIS_MODULE (THIS_MODULE) is the executable or library that the
 * call is compiled into. When a library is unloaded, its events go, enabled or not, and whoever
 * still has a file of one gets -ENODEV. Records of it stay in the buffers and stay readable. NULL:
 * nobody; such an event, and those of the executable, stay. */
struct module;

/* --- commands, piece by piece ------------------------------------------------------------------
 */

#define MAX_DYNEVENT_CMD_LEN 2048 /* bytes, with the NUL: enough for what the kernel takes */

/* Which functions a command may be given to: each checks it and answers -EINVAL. A command of the
 * program's own has a type of its own, above DYNEVENT_TYPE_NONE. */
enum dynevent_type {
  DYNEVENT_TYPE_SYNTH = 1,
  DYNEVENT_TYPE_KPROBE,
  DYNEVENT_TYPE_NONE,
};

struct dynevent_cmd;
typedef int (*dynevent_create_fn_t)(struct dynevent_cmd* cmd);
typedef int (*dynevent_check_arg_fn_t)(void* arg);

/* A command under construction. `run_command` of a type of one's own may read buffer (a text that
 * ends with a NUL) and set and read private_data; nothing here is to be changed but through the
 * functions. May be copied; belongs to one thread at a time. */
struct dynevent_cmd {
  char* buffer;    /* the caller's, for as long as the command is used */
  uint32_t size;   /* of buffer, bytes */
  uint32_t length; /* of the text; above size: something did not fit */
  const char* event_name;
  uint32_t n_fields;
  uint32_t type; /* enum dynevent_type */
  dynevent_create_fn_t run_command;
  void* private_data;
  uint64_t reserved[4]; /* for later versions */
};

/* One word. `check` is asked with the struct before it is added; what it answers, but 0, is the
 * result. */
struct dynevent_arg {
  const char* str;
  char separator; /* behind it */
  dynevent_check_arg_fn_t check;
};

/* Two words with a character between and one behind: `type field;`, `flags=%cx `. */
struct dynevent_arg_pair {
  const char* lhs;
  const char* rhs;
#ifdef __cplusplus
  char op; /* between them; the C name is a keyword */
#else
  char operator;
#endif
  char separator;
  dynevent_check_arg_fn_t check;
};

/* An empty command over `buf` of `maxlen` bytes; `run_command` is what dynevent_create() calls.
 * With a NULL, or a maxlen below 1, everything that is added to it is -E2BIG. */
PATCHBAY_FUNCTION(void, dynevent_cmd_init, struct dynevent_cmd* cmd, char* buf, int maxlen,
                  int type, dynevent_create_fn_t run_command);
/* A `separator` or `operator` of 0 is a blank. */
PATCHBAY_FUNCTION(void, dynevent_arg_init, struct dynevent_arg* arg, dynevent_check_arg_fn_t check,
                  char separator);
PATCHBAY_FUNCTION(void, dynevent_arg_pair_init, struct dynevent_arg_pair* pair,
                  dynevent_check_arg_fn_t check, char op, char separator);
/* " STR" and the separator. -E2BIG: maxlen is reached; the command stays -E2BIG. */
PATCHBAY_FUNCTION(int, dynevent_arg_add, struct dynevent_cmd* cmd, struct dynevent_arg* arg);
/* " LHS", the operator, "RHS", the separator. -E2BIG. */
PATCHBAY_FUNCTION(int, dynevent_arg_pair_add, struct dynevent_cmd* cmd,
                  struct dynevent_arg_pair* pair);
/* The text as it is. -E2BIG. */
PATCHBAY_FUNCTION(int, dynevent_str_add, struct dynevent_cmd* cmd, const char* str);
/* Runs the command: what run_command answers. -E2BIG without running it, when it did not fit. */
PATCHBAY_FUNCTION(int, dynevent_create, struct dynevent_cmd* cmd);

/* --- definitions of synthetic events -----------------------------------------------------------
 */

#define PATCHBAY_SYNTH_FIELDS_MAX 64

/* A field. Types: s8 u8 s16 u16 s32 u32 s64 u64, (unsigned) char int long, bool, pid_t, gfp_t;
 * float and double (not the kernel's: histograms and the files that define events refuse them);
 * texts "char[N]" (N at most 256) and "char[]" (as long as it is); stacks "long[]". The [N] may
 * stand behind the name as well. */
struct synth_field_desc {
  const char* type;
  const char* name;
};

/* Defines an event in one step. It begins switched off.
 * -EINVAL a NULL among name and fields, no field or more than 64, a bad type or name (error_log
 * says what); -EEXIST; -E2BIG longer than MAX_DYNEVENT_CMD_LEN. */
PATCHBAY_FUNCTION(int, synth_event_create, const char* name, struct synth_field_desc* fields,
                  unsigned int n_fields, struct module* mod);
/* -ENOENT there is no such event; -EBUSY it is enabled, somebody has a file of it or subscribes to
 * it, a trigger, a histogram or an event probe uses it. Its records stay in the buffers (the kernel
 * resets the buffers when a module owned the event). */
PATCHBAY_FUNCTION(int, synth_event_delete, const char* name);

PATCHBAY_FUNCTION(void, synth_event_cmd_init, struct dynevent_cmd* cmd, char* buf, int maxlen);
/* -EINVAL: the command is no synthetic event's, a NULL, an unknown type, a 65th field. -E2BIG. What
 * is wrong with a name is found by the end. */
PATCHBAY_FUNCTION(int, synth_event_gen_cmd_array_start, struct dynevent_cmd* cmd, const char* name,
                  struct module* mod, struct synth_field_desc* fields, unsigned int n_fields);
PATCHBAY_FUNCTION(int, synth_event_add_field, struct dynevent_cmd* cmd, const char* type,
                  const char* name);
PATCHBAY_FUNCTION(int, synth_event_add_fields, struct dynevent_cmd* cmd,
                  struct synth_field_desc* fields,
                  unsigned int n_fields); /* up to the first error */
/* "TYPE NAME", as it is. */
PATCHBAY_FUNCTION(int, synth_event_add_field_str, struct dynevent_cmd* cmd, const char* type_name);
/* Behind `mod`: type, name, type, name …, NULL. */
PATCHBAY_FUNCTION_WITH((sentinel), int, __synth_event_gen_cmd_start, struct dynevent_cmd* cmd,
                       const char* name, struct module* mod, ...);
/* synth_event_gen_cmd_start(cmd, name, mod, type, name …): the same; the macro adds the NULL. */
#define patchbay_synth_event_gen_cmd_start(...) \
  patchbay___synth_event_gen_cmd_start(__VA_ARGS__, (const char*)0)
/* Defines the event. -EINVAL, -EEXIST as synth_event_create(). */
#define patchbay_synth_event_gen_cmd_end(cmd) patchbay_dynevent_create(cmd)

/* --- definitions of probes ---------------------------------------------------------------------
 */

#define PATCHBAY_PROBE_FIELDS_MAX 128

PATCHBAY_FUNCTION(void, kprobe_event_cmd_init, struct dynevent_cmd* cmd, char* buf, int maxlen);
/* The event kprobes:NAME at `loc` (SYMBOL, SYMBOL+OFFSET, LIBRARY:SYMBOL, 0xADDRESS), or of its
 * return. Fields as in kprobe_events: "dfd=%di", "name=+0(%si):string", "$retval".
 * -EINVAL the command is no probe's, a NULL, a 129th field; -E2BIG. */
PATCHBAY_FUNCTION_WITH((sentinel), int, __kprobe_event_gen_cmd_start, struct dynevent_cmd* cmd,
                       int kretprobe, const char* name, const char* loc, ...);
PATCHBAY_FUNCTION_WITH((sentinel), int, __kprobe_event_add_fields, struct dynevent_cmd* cmd, ...);
#define patchbay_kprobe_event_gen_cmd_start(cmd, ...)                                       \
  patchbay___kprobe_event_gen_cmd_start(PATCHBAY_PROBE_OF_THIS_MODULE(cmd), 0, __VA_ARGS__, \
                                        (const char*)0)
#define patchbay_kretprobe_event_gen_cmd_start(cmd, ...)                                    \
  patchbay___kprobe_event_gen_cmd_start(PATCHBAY_PROBE_OF_THIS_MODULE(cmd), 1, __VA_ARGS__, \
                                        (const char*)0)
#define patchbay_kprobe_event_add_fields(...) \
  patchbay___kprobe_event_add_fields(__VA_ARGS__, (const char*)0)
#define patchbay_kprobe_event_add_field(cmd, field) \
  patchbay___kprobe_event_add_fields(cmd, field, (const char*)0)
/* Defines the event. As kprobe_events answers: -EINVAL (error_log says what), -ENOENT, -EILSEQ,
 * -EEXIST. */
#define patchbay_kprobe_event_gen_cmd_end(cmd) patchbay_dynevent_create(cmd)
#define patchbay_kretprobe_event_gen_cmd_end(cmd) patchbay_dynevent_create(cmd)
/* -ENOENT; -EBUSY it is enabled or somebody has a file of it. As with a removal by kprobe_events,
 * buffers in which it was enabled are cleared. */
PATCHBAY_FUNCTION(int, kprobe_event_delete, const char* name);

/* The event is this object's, as with PATCHBAY_THIS_MODULE. Returns `cmd`. */
static inline struct dynevent_cmd* patchbay_probe_of(struct dynevent_cmd* cmd, struct module* mod) {
  if (cmd && cmd->type == DYNEVENT_TYPE_KPROBE) cmd->private_data = mod;
  return cmd;
}
#define PATCHBAY_PROBE_OF_THIS_MODULE(cmd) patchbay_probe_of(cmd, PATCHBAY_THIS_MODULE)

/* --- events of an instance ---------------------------------------------------------------------
 */

struct trace_array; /* patchbay/trace.h */

/* One event in one instance. Only ever had from trace_get_event_file(). */
struct trace_event_file {
  struct trace_array* tr;
};

/* The file of SYSTEM:EVENT in an instance, NULL: the top one. Until it is put, the instance cannot
 * be removed and the event cannot be deleted (-EBUSY). ERR_PTR(-ENOENT): no such instance;
 * ERR_PTR(-EINVAL): no such event in it, or a NULL; ERR_PTR(-EBUSY): the event is going. */
PATCHBAY_FUNCTION(struct trace_event_file*, trace_get_event_file, const char* instance,
                  const char* system, const char* event);
/* NULL and errnos are ignored, and so is what was put already. */
PATCHBAY_FUNCTION(void, trace_put_event_file, struct trace_event_file* file);

/* --- events of an owner who ends ---------------------------------------------------------------
 */

/* The number of an event (its file `id`): a later event of that name has another one, or is defined
 * just alike. -ENOENT. */
PATCHBAY_EXPORTED int patchbay_event_id(const char* system, const char* event);
/* A synthetic event, probe or function event goes, enabled or not, whoever uses it: it is switched
 * off in all instances, its triggers and subscriptions end, who has a file of it gets -ENODEV. Its
 * records stay readable, and another event of its name may be made at once. `id`: only the event
 * of this number; 0: whichever has the name. -ENOENT: it is gone. -EINVAL: a NULL, or the program
 * has not defined it. */
PATCHBAY_EXPORTED int patchbay_event_end(const char* system, const char* event, int id);

/* --- recording synthetic events ----------------------------------------------------------------
 */

/* One record of the event in the file's instance, as that instance wants it: its filter, triggers,
 * pid lists, soft mode. Values are in the order of the fields, each cast to uint64_t (of a float or
 * double the bits). What is wider than its field is cut to it. A text is a pointer; char[N] takes
 * 255 bytes of it, of which lines show N, char[] all. NULL, and what cannot be read, is the text
 * "(fault)". A stack is a pointer to unsigned longs, the first of which says how many follow (31 at
 * most); NULL: none.
 *
 * 0: recorded, or not wanted: the event is switched off, the filter or a pid list says no.
 * -EINVAL: n_vals is not the number of fields (nothing is recorded); the file was put, or is not
 * one of a synthetic event; there is no room: recording is off, the buffer is full and must not
 *          overwrite, the record is larger than a sub-buffer, or the thread is inside Patchbay.
 * With a filter or triggers a record that finds no room is 0. -ENODEV: the event is gone with its
 * library. */
PATCHBAY_FUNCTION(int, synth_event_trace, struct trace_event_file* file, unsigned int n_vals, ...);
PATCHBAY_FUNCTION(int, synth_event_trace_array, struct trace_event_file* file, const uint64_t* vals,
                  unsigned int n_vals);

/* 1: a record would be looked at now: the event is on in this file's instance, or somebody listens
 * to it there. 0: it would not, or the file is none. For values that are expensive to have. */
PATCHBAY_EXPORTED int patchbay_synth_event_is_wanted(const struct trace_event_file* file);

/* How many values a record of the file's event has. -EINVAL: it is no synthetic event. -ENODEV: it
 * is gone, or the file was put. */
PATCHBAY_EXPORTED int patchbay_synth_event_nr_fields(const struct trace_event_file* file);

#define PATCHBAY_SYNTH_RECORD_WORDS 512
/* A record under construction: of some 4 KiB, in which the texts are. Nothing in it is public. */
struct synth_event_trace_state {
  uint64_t open; /* its own address and how it is used; else it is closed */
  struct trace_event_file* file;
  const void* reserved;
  const void* next; /* field */
  uint64_t given;   /* a bit for each field, when they are given by name */
  uint16_t text_end[16];
  uint64_t record[PATCHBAY_SYNTH_RECORD_WORDS];
  uint64_t for_later[8]; /* for later versions */
};

/* The same piece by piece. `state` needs no preparation, and belongs to one thread from start to
 * end. -EINVAL and -ENODEV as above, with recording off as the only way to have no room; -ENOTSUPP
 * (524): the event has a char[] or long[]. An event that is switched off is 0, and what follows is
 * ignored. */
PATCHBAY_FUNCTION(int, synth_event_trace_start, struct trace_event_file* file,
                  struct synth_event_trace_state* trace_state);
/* The next field, or the first one of that name. What is not given is 0 or "".
 * -EINVAL: the state is not open; both functions are used for one record; there is no such field,
 * or no further one; a text is NULL. */
PATCHBAY_FUNCTION(int, synth_event_add_next_val, uint64_t val,
                  struct synth_event_trace_state* trace_state);
PATCHBAY_FUNCTION(int, synth_event_add_val, const char* field_name, uint64_t val,
                  struct synth_event_trace_state* trace_state);
/* Records it; to be called whatever the functions above have answered. The record has the time of
 * this call. -EINVAL: the state is not open, or there was no room. */
PATCHBAY_FUNCTION(int, synth_event_trace_end, struct synth_event_trace_state* trace_state);

#ifndef PATCHBAY_NO_KERNEL_NAMES
#define synth_event_gen_cmd_start(...) patchbay_synth_event_gen_cmd_start(__VA_ARGS__)
#define synth_event_gen_cmd_end(cmd) patchbay_synth_event_gen_cmd_end(cmd)
#define kprobe_event_gen_cmd_start(...) patchbay_kprobe_event_gen_cmd_start(__VA_ARGS__)
#define kretprobe_event_gen_cmd_start(...) patchbay_kretprobe_event_gen_cmd_start(__VA_ARGS__)
#define kprobe_event_add_fields(...) patchbay_kprobe_event_add_fields(__VA_ARGS__)
#define kprobe_event_add_field(cmd, field) patchbay_kprobe_event_add_field(cmd, field)
#define kprobe_event_gen_cmd_end(cmd) patchbay_kprobe_event_gen_cmd_end(cmd)
#define kretprobe_event_gen_cmd_end(cmd) patchbay_kretprobe_event_gen_cmd_end(cmd)
#endif

#ifdef __cplusplus
}
#endif
#endif
