/* SPDX-License-Identifier: MIT
 *
 * The program defines and records events of its own: synthetic events, probes, and commands for
 * both that are put together piece by piece. These are the functions that kernel modules have
 * (Linux 6.12, include/linux/trace_events.h), under the same names and with the same results; each
 * is also declared as patchbay_NAME (patchbay/api_names.h). patchbay/kernel.h has other names that
 * such code takes for granted (u64, kzalloc, IS_ERR, THIS_MODULE …). C11 and C++; the program is
 * linked with libpatchbay.
 *
 *   struct synth_field_desc fields[] = {{"pid_t", "next_pid"}, {"char[16]", "next_comm"}};
 *   synth_event_create("sched", fields, 2, PATCHBAY_THIS_MODULE);
 *   struct trace_event_file* file = trace_get_event_file(NULL, "synthetic", "sched");
 *   … a user or the program enables it: events/synthetic/sched/enable, trace_array_set_clr_event()
 *   synth_event_trace(file, 2, (uint64_t)pid, (uint64_t)comm);
 *   trace_put_event_file(file);
 *   synth_event_delete("sched");
 *
 * Functions return 0 or a negative errno. A pointer may be an errno as well; IS_ERR() of
 * patchbay/kernel.h tells. All functions here may return:
 *
 *   -ESRCH    no agent runs in this process: Patchbay is not loaded or could not start, the program
 *             is set-user-id, its constructors have not run yet, or this is a forked child
 *   -EDEADLK  the function changes something, and the thread is inside Patchbay already: in a
 *             signal handler that interrupted it, or in a callback of an event that is not static
 *   -ENOMEM   there is no memory
 *   -EINVAL   an argument is NULL that must not be
 *
 * Threads: any thread may call every function. Signal handlers and forked children may call the
 * functions that record (synth_event_trace…, synth_event_add…): these take no lock and no memory,
 * and leave errno alone. The others wait while another command is being carried out, and signal
 * handlers must not call them.
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

/* The owner of an event. PATCHBAY_THIS_MODULE (THIS_MODULE) is the executable or library into which
 * the call is compiled. When a library is unloaded, its events are removed, enabled or not, and
 * files of them answer -ENODEV. Their records stay in the buffers and stay readable. NULL means no
 * owner. Events without an owner, and those of the executable, stay. */
struct module;

/* --- commands, piece by piece ------------------------------------------------------------------
 */

#define MAX_DYNEVENT_CMD_LEN 2048 /* bytes, with the NUL: the kernel's limit */

/* The type of a command. Each function checks it, and answers -EINVAL for a command of another
 * type. A command of the program's own has a type of its own, above DYNEVENT_TYPE_NONE. */
enum dynevent_type {
  DYNEVENT_TYPE_SYNTH = 1,
  DYNEVENT_TYPE_KPROBE,
  DYNEVENT_TYPE_NONE,
};

struct dynevent_cmd;
typedef int (*dynevent_create_fn_t)(struct dynevent_cmd* cmd);
typedef int (*dynevent_check_arg_fn_t)(void* arg);

/* A command under construction. A `run_command` of the program's own may read `buffer`, a text that
 * ends with a NUL, and may set and read `private_data`. Only the functions change anything else. A
 * command may be copied. It belongs to one thread at a time. */
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

/* One word of a command. Before the word is added, `check` is called with the struct. An answer
 * other than 0 becomes the result, and the word is not added. */
struct dynevent_arg {
  const char* str;
  char separator; /* behind it */
  dynevent_check_arg_fn_t check;
};

/* Two words with a character between them and one behind: `type field;`, `flags=%cx `. */
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

/* Makes an empty command over `buf` of `maxlen` bytes. dynevent_create() will call `run_command`.
 * When `buf` is NULL or `maxlen` is below 1, everything that is added is -E2BIG. */
PATCHBAY_FUNCTION(void, dynevent_cmd_init, struct dynevent_cmd* cmd, char* buf, int maxlen,
                  int type, dynevent_create_fn_t run_command);
/* A `separator` or `operator` of 0 is a blank. */
PATCHBAY_FUNCTION(void, dynevent_arg_init, struct dynevent_arg* arg, dynevent_check_arg_fn_t check,
                  char separator);
PATCHBAY_FUNCTION(void, dynevent_arg_pair_init, struct dynevent_arg_pair* pair,
                  dynevent_check_arg_fn_t check, char op, char separator);
/* Adds " STR" and the separator. -E2BIG: the text reaches maxlen; from then on the command stays
 * -E2BIG. */
PATCHBAY_FUNCTION(int, dynevent_arg_add, struct dynevent_cmd* cmd, struct dynevent_arg* arg);
/* Adds " LHS", the operator, "RHS" and the separator. -E2BIG as above. */
PATCHBAY_FUNCTION(int, dynevent_arg_pair_add, struct dynevent_cmd* cmd,
                  struct dynevent_arg_pair* pair);
/* Adds the text as it is. -E2BIG as above. */
PATCHBAY_FUNCTION(int, dynevent_str_add, struct dynevent_cmd* cmd, const char* str);
/* Runs the command, and returns the answer of run_command. Returns -E2BIG, and does not run it,
 * when a part did not fit. */
PATCHBAY_FUNCTION(int, dynevent_create, struct dynevent_cmd* cmd);

/* --- definitions of synthetic events -----------------------------------------------------------
 */

#define PATCHBAY_SYNTH_FIELDS_MAX 64

/* A field. Its type is one of these:
 *
 *   s8 u8 s16 u16 s32 u32 s64 u64, (unsigned) char int long, bool, pid_t, gfp_t
 *   float, double   not the kernel's: histograms and the files that define events refuse them
 *   char[N]         a text; N is at most 256
 *   char[]          a text of any length
 *   long[]          a stack
 *
 * The [N] may stand behind the name as well. */
struct synth_field_desc {
  const char* type;
  const char* name;
};

/* Defines an event in one step. The event begins switched off.
 *
 *   -EINVAL  the name or a field is NULL, there are no fields or more than 64, or a type or name is
 *            bad (error_log says which)
 *   -EEXIST  an event has this name
 *   -E2BIG   the definition is longer than MAX_DYNEVENT_CMD_LEN
 */
PATCHBAY_FUNCTION(int, synth_event_create, const char* name, struct synth_field_desc* fields,
                  unsigned int n_fields, struct module* mod);
/* Deletes an event. Its records stay in the buffers (the kernel resets the buffers when a module
 * owned the event).
 *
 *   -ENOENT  there is no such event
 *   -EBUSY   it is enabled, there is a file of it or a subscription to it, or a trigger, a
 *            histogram or an event probe uses it
 */
PATCHBAY_FUNCTION(int, synth_event_delete, const char* name);

PATCHBAY_FUNCTION(void, synth_event_cmd_init, struct dynevent_cmd* cmd, char* buf, int maxlen);
/* These begin the definition of an event, and add fields. -EINVAL: the command is no synthetic
 * event's, an argument is NULL, a type is unknown, or it is the 65th field. -E2BIG as above. A bad
 * name is found by synth_event_gen_cmd_end(). */
PATCHBAY_FUNCTION(int, synth_event_gen_cmd_array_start, struct dynevent_cmd* cmd, const char* name,
                  struct module* mod, struct synth_field_desc* fields, unsigned int n_fields);
PATCHBAY_FUNCTION(int, synth_event_add_field, struct dynevent_cmd* cmd, const char* type,
                  const char* name);
PATCHBAY_FUNCTION(int, synth_event_add_fields, struct dynevent_cmd* cmd,
                  struct synth_field_desc* fields,
                  unsigned int n_fields); /* stops at the first error */
/* Adds "TYPE NAME" as it is. */
PATCHBAY_FUNCTION(int, synth_event_add_field_str, struct dynevent_cmd* cmd, const char* type_name);
/* Takes behind `mod`: type, name, type, name …, NULL. */
PATCHBAY_FUNCTION_WITH((sentinel), int, __synth_event_gen_cmd_start, struct dynevent_cmd* cmd,
                       const char* name, struct module* mod, ...);
/* synth_event_gen_cmd_start(cmd, name, mod, type, name …) is the same; the macro adds the NULL. */
#define patchbay_synth_event_gen_cmd_start(...) \
  patchbay___synth_event_gen_cmd_start(__VA_ARGS__, (const char*)0)
/* Defines the event. Answers as synth_event_create() does. */
#define patchbay_synth_event_gen_cmd_end(cmd) patchbay_dynevent_create(cmd)

/* --- definitions of probes ---------------------------------------------------------------------
 */

#define PATCHBAY_PROBE_FIELDS_MAX 128

PATCHBAY_FUNCTION(void, kprobe_event_cmd_init, struct dynevent_cmd* cmd, char* buf, int maxlen);
/* These begin the definition of the event kprobes:NAME at `loc`, or at the return of that function,
 * and add fields. `loc` is SYMBOL, SYMBOL+OFFSET, LIBRARY:SYMBOL or 0xADDRESS. Fields are written
 * as in kprobe_events: "dfd=%di", "name=+0(%si):string", "$retval". -EINVAL: the command is no
 * probe's, an argument is NULL, or it is the 129th field. -E2BIG as above. */
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
/* Defines the event, and answers as the file kprobe_events does: -EINVAL (error_log says why),
 * -ENOENT, -EILSEQ or -EEXIST. */
#define patchbay_kprobe_event_gen_cmd_end(cmd) patchbay_dynevent_create(cmd)
#define patchbay_kretprobe_event_gen_cmd_end(cmd) patchbay_dynevent_create(cmd)
/* Deletes a probe. As with a removal by kprobe_events, the buffers in which it was enabled are
 * cleared. -ENOENT: there is no such probe. -EBUSY: it is enabled, or there is a file of it. */
PATCHBAY_FUNCTION(int, kprobe_event_delete, const char* name);

/* Makes this object the owner of the event, as PATCHBAY_THIS_MODULE does. Returns `cmd`. */
static inline struct dynevent_cmd* patchbay_probe_of(struct dynevent_cmd* cmd, struct module* mod) {
  if (cmd && cmd->type == DYNEVENT_TYPE_KPROBE) cmd->private_data = mod;
  return cmd;
}
#define PATCHBAY_PROBE_OF_THIS_MODULE(cmd) patchbay_probe_of(cmd, PATCHBAY_THIS_MODULE)

/* --- events of an instance ---------------------------------------------------------------------
 */

struct trace_array; /* patchbay/trace.h */

/* One event in one instance. trace_get_event_file() is the only source of such a file. */
struct trace_event_file {
  struct trace_array* tr;
};

/* Returns the file of SYSTEM:EVENT in an instance; `instance` is NULL for the top one. Until the
 * file is put, the instance cannot be removed and the event cannot be deleted (-EBUSY). Errors are
 * pointers:
 *
 *   ERR_PTR(-ENOENT)  there is no such instance
 *   ERR_PTR(-EINVAL)  the instance has no such event, or an argument is NULL
 *   ERR_PTR(-EBUSY)   the event is being removed
 */
PATCHBAY_FUNCTION(struct trace_event_file*, trace_get_event_file, const char* instance,
                  const char* system, const char* event);
/* Gives a file back. It ignores NULL, pointers that are an errno, and files that were put already.
 */
PATCHBAY_FUNCTION(void, trace_put_event_file, struct trace_event_file* file);

/* --- the end of an event's owner ---------------------------------------------------------------
 */

/* Returns the number of an event, as in its file `id`. A later event of that name has another
 * number, or exactly the same definition. -ENOENT: there is no such event. */
PATCHBAY_EXPORTED int patchbay_event_id(const char* system, const char* event);
/* Removes a synthetic event, probe or function event, enabled or not, whoever uses it. The event is
 * switched off in all instances, its triggers and subscriptions end, and files of it answer
 * -ENODEV. Its records stay readable, and another event of its name may be made at once. With an
 * `id` only the event of this number is removed; 0 means whichever has the name. -ENOENT: it is
 * gone already. -EINVAL: an argument is NULL, or the program has not defined the event. */
PATCHBAY_EXPORTED int patchbay_event_end(const char* system, const char* event, int id);

/* --- recording synthetic events ----------------------------------------------------------------
 */

/* Writes one record of the event in the file's instance, as that instance wants it: by its filter,
 * triggers, pid lists and soft mode. The values stand in the order of the fields, each cast to
 * uint64_t; of a float or double these are the bits. A value that is wider than its field is cut.
 *
 * A text is a pointer. char[N] takes 255 bytes of it, of which lines show N; char[] takes all. A
 * text that is NULL or cannot be read becomes "(fault)". A stack is a pointer to unsigned longs,
 * the first of which says how many follow (31 at most); NULL is an empty stack.
 *
 *   0        it is recorded, or not wanted: the event is switched off, or the filter or a pid list
 *            rejects it
 *   -EINVAL  n_vals is not the number of fields; the file was put, or is not one of a synthetic
 *            event; or there is no room: recording is off, the buffer is full and must not
 *            overwrite, the record is larger than a sub-buffer, or the thread is inside Patchbay.
 *            With a filter or triggers a record that finds no room is 0.
 *   -ENODEV  the event has gone with its library
 */
PATCHBAY_FUNCTION(int, synth_event_trace, struct trace_event_file* file, unsigned int n_vals, ...);
PATCHBAY_FUNCTION(int, synth_event_trace_array, struct trace_event_file* file, const uint64_t* vals,
                  unsigned int n_vals);

/* Asks before values are computed that are expensive. Returns 1 when a record would be used now:
 * the event is on in this file's instance, or has a subscription there. Returns 0 otherwise, and
 * when the file is none. */
PATCHBAY_EXPORTED int patchbay_synth_event_is_wanted(const struct trace_event_file* file);

/* Returns how many values a record of the file's event has. -EINVAL: it is no synthetic event.
 * -ENODEV: the event is gone, or the file was put. */
PATCHBAY_EXPORTED int patchbay_synth_event_nr_fields(const struct trace_event_file* file);

#define PATCHBAY_SYNTH_RECORD_WORDS 512
/* A record under construction, with its texts: about 4 KiB. None of its members is public. */
struct synth_event_trace_state {
  uint64_t open; /* its own address and how it is used; any other value: it is closed */
  struct trace_event_file* file;
  const void* reserved;
  const void* next; /* field */
  uint64_t given;   /* a bit for each field, when they are given by name */
  uint16_t text_end[16];
  uint64_t record[PATCHBAY_SYNTH_RECORD_WORDS];
  uint64_t for_later[8]; /* for later versions */
};

/* Begins a record that is written piece by piece. `trace_state` needs no preparation, and belongs
 * to one thread from start to end. When the event is switched off the answer is 0, and the
 * following calls have no effect. -EINVAL and -ENODEV are as above; recording that is off is the
 * only case of no room. -ENOTSUPP (524): the event has a char[] or long[]. */
PATCHBAY_FUNCTION(int, synth_event_trace_start, struct trace_event_file* file,
                  struct synth_event_trace_state* trace_state);
/* Set the next field, or the first one of that name. A field that is not set is 0 or "".
 * -EINVAL: the state is not open; both functions are used for one record; there is no such field,
 * or no further one; a text is NULL. */
PATCHBAY_FUNCTION(int, synth_event_add_next_val, uint64_t val,
                  struct synth_event_trace_state* trace_state);
PATCHBAY_FUNCTION(int, synth_event_add_val, const char* field_name, uint64_t val,
                  struct synth_event_trace_state* trace_state);
/* Publishes the record. The program has to call it, whatever the functions above have answered. The
 * record has the time of this call. -EINVAL: the state is not open, or there was no room. */
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
