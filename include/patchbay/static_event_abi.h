/* SPDX-License-Identifier: MIT
 *
 * The agreement between a program that uses trace_event.h and the agent: the structures that the
 * header puts into the program or library, and the functions that the agent exports. C11 and C++. A
 * program that runs without the agent never calls anything here: its sites stay nops.
 *
 *   section patchbay_events   one struct patchbay_event per event          (read and written)
 *   section patchbay_sites    one struct patchbay_site per use of an event (nobody writes it)
 *
 *   site (5-byte nop) --jmp when wanted--> block out of line: builds the record (8 bytes for the
 *   common header, then the fields as `fields` says) on its stack, calls event->hit(event, record,
 *   size), jumps back behind the nop
 *
 * A constructor of each object looks patchbay_register_events() up by name, because nothing links
 * to the agent. If the process has it, the constructor hands both sections over, and a destructor
 * takes them back.
 */
#ifndef PATCHBAY_STATIC_EVENT_ABI_H
#define PATCHBAY_STATIC_EVENT_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PATCHBAY_EVENT_ABI 1
#define PATCHBAY_MAX_RECORD 2048 /* bytes of a record; longer strings are cut */

struct patchbay_field {
  const char* type; /* "int", "char[16]" is type "char" with array_len 16, "__data_loc char[]" */
  const char* name;
  uint32_t offset; /* in the record */
  uint32_t size;
  uint32_t is_signed;
  uint32_t array_len;    /* 0: not an array */
  uint32_t element_size; /* of an array or dynamic array, else 0 */
};

struct patchbay_enum {
  const char* name;
  int64_t value;
};

struct patchbay_event {
  uint32_t abi; /* PATCHBAY_EVENT_ABI */
  uint32_t nr_fields;
  const char* system;
  const char* name;
  const struct patchbay_field* fields;
  const char* print_fmt; /* as in a format file: "\"a=%d\", REC->a"; "": all as name=value */
  const struct patchbay_enum* enums; /* names in print_fmt that stand for numbers */
  uint32_t nr_enums;
  uint32_t fixed_size;   /* of the record, with the header; dynamic data follows */
  uint32_t max_size;
  /* The agent's. `hit` is set while a site jumps. */
  void (*hit)(struct patchbay_event* event, void* record, uint32_t size);
  const void* program; /* atomic */
  void* live;
  uint64_t reserved[2];
};

struct patchbay_site {
  const void* address; /* of the nop */
  const void* target;  /* of the block out of line */
  struct patchbay_event* event;
};

/* The agent exports this function. Any thread may call it, also while a library is being loaded.
 * Returns 0, or a negative errno: -EINVAL, the ABI is another one; -EEXIST, an event of that name
 * is there and differs (the other events are registered all the same). Pointers to events and sites
 * have to stay valid until patchbay_unregister_events() returns. */
int patchbay_register_events(uint32_t abi, struct patchbay_event* events, uint64_t nr_events,
                             const struct patchbay_site* sites, uint64_t nr_sites);
void patchbay_unregister_events(struct patchbay_event* events, uint64_t nr_events);

/* Names the task that this thread plays, for simulators and green-thread runtimes. From now on
 * common_pid, pid filters and saved_cmdlines show its id and comm. With pid 0 the thread is itself
 * again. Async-signal-safe, except for the first call of a thread with a new comm. */
void patchbay_set_current(uint32_t pid, const char* comm);
/* Programs that play tasks report their beginning and end here, for the options event-fork and
 * function-fork. Threads of the process itself are followed without these calls. */
void patchbay_task_forked(uint32_t parent, uint32_t child);
void patchbay_task_exited(uint32_t pid);

#ifdef __cplusplus
}
#endif
#endif
