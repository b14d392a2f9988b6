/* SPDX-License-Identifier: MIT
 *
 * The program listens to its own events: a callback gets each record of an event. The event may be
 * a static event, a function event, a probe or a synthetic event. A use is a state machine that
 * watches the program and acts when something goes wrong. The event need not be enabled, and a
 * subscription does not make it recorded. C11 and C++; the program is linked with libpatchbay.
 *
 *   static struct patchbay_field_place state;
 *   static void changed(const struct patchbay_record* record, void* data) {
 *     if (patchbay_field_u64(record, &state) == kLost) …
 *   }
 *   patchbay_find_field("net", "link_change", "state", &state);
 *   patchbay_subscribe(NULL, "net", "link_change", "state != 1", changed, data, &subscription);
 *   …
 *   patchbay_unsubscribe(subscription);       no thread is in changed() any more
 *
 * A callback runs in the thread in which the event happens, after the record was written: a
 * tracing_snapshot() in the callback contains it. The callback must return: no longjmp, no
 * exception. It has to leave errno as it was.
 *
 * The callback of a static event may do everything that the program may do at that place, also with
 * Patchbay's functions. The callback of another event runs wherever that event is hit, such as in a
 * signal handler or inside malloc(): it may do what a signal handler may do. Functions that it
 * calls record events as ever. A hit inside of a callback calls no callback;
 * patchbay_subscription_missed() counts it. Forked children call no callbacks. When a library is
 * unloaded, its callbacks are unsubscribed (patchbay/this_module.h).
 *
 * Functions return 0 or a negative errno. All of them may return:
 *
 *   -ESRCH    no agent runs in this process, or it is a forked child
 *   -EDEADLK  the thread is inside Patchbay already, or in a callback of an event that is not
 *             static
 *   -ENOMEM   there is no memory
 *
 * Threads: any thread may call these functions. They wait while another command is being carried
 * out. Signal handlers must not call them.
 */
#ifndef PATCHBAY_SUBSCRIBE_H
#define PATCHBAY_SUBSCRIBE_H

#include <patchbay/api_names.h>
#include <patchbay/this_module.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A record, as a callback gets it. It is valid as long as the callback runs. */
struct patchbay_record {
  const void* data; /* the record as in the ring; the event's file `format` describes it */
  uint32_t size;    /* bytes */
  uint32_t pid;     /* of the thread, as the record has it */
};

typedef void (*patchbay_record_fn)(const struct patchbay_record* record, void* data);

struct patchbay_subscription;

/* Calls `callback` with each record of the event, and with `data`. `instance` is NULL for the top
 * instance. `filter` is an expression as for the event's file `filter`; NULL lets every record
 * through. An event with a subscription cannot be deleted (-EBUSY). The calls end by themselves
 * when the instance is removed, or when the event goes with its library; the subscription still has
 * to be given to patchbay_unsubscribe().
 *
 *   -ENOENT  there is no such instance
 *   -EINVAL  there is no such event, an argument is NULL, or the filter is wrong (error_log says
 *            where)
 */
PATCHBAY_EXPORTED int patchbay_subscribe(const char* instance, const char* system,
                                         const char* event, const char* filter,
                                         patchbay_record_fn callback, void* data,
                                         struct patchbay_subscription** subscription);
/* The same with flags. -EINVAL: a flag is not known. */
PATCHBAY_EXPORTED int patchbay_subscribe_with(const char* instance, const char* system,
                                              const char* event, const char* filter,
                                              patchbay_record_fn callback, void* data,
                                              unsigned flags,
                                              struct patchbay_subscription** subscription);
/* Neither the callback nor anything that it calls uses a vector, mask or x87 register. Then none
 * has to be kept where a function is hit, and a call costs half; at a static event, which is
 * a call itself, none is kept anyway. The compiler sees to it in
 * `__attribute__((target("general-regs-only")))`; libc's functions do use them, and
 * patchbay_field_f64() does. To say it where it is not so destroys values of the program. */
#define PATCHBAY_SUBSCRIBE_GENERAL_REGS 1u
/* Ends the calls, and waits until no thread is in the callback. -EINVAL: it is not subscribed (any
 * more). -EBUSY: the callback will not be called any more, but a thread has been in it for 10
 * seconds, or this thread is in it. Then its code and data have to stay. */
PATCHBAY_EXPORTED int patchbay_unsubscribe(struct patchbay_subscription* subscription);
/* Returns the number of records that did not call the callback, because their thread was in one. */
PATCHBAY_EXPORTED uint64_t
patchbay_subscription_missed(const struct patchbay_subscription* subscription);

/* --- fields ------------------------------------------------------------------------------------
 */

enum patchbay_field_kind {
  PATCHBAY_FIELD_NUMBER,  /* 1, 2, 4 or 8 bytes; pointers, float and double too */
  PATCHBAY_FIELD_TEXT,    /* char name[N] */
  PATCHBAY_FIELD_DYNAMIC, /* __data_loc: a text, or an array, of any length */
  PATCHBAY_FIELD_BYTES,   /* other arrays and structures */
};

/* The place of a field in the records of an event. A structure of zeros is the place of no field.
 */
struct patchbay_field_place {
  uint32_t offset, size; /* bytes; of the kind DYNAMIC those of the __data_loc word */
  uint8_t kind;          /* enum patchbay_field_kind */
  uint8_t is_signed;
  uint8_t is_float; /* a number that is a float (4 bytes) or a double (8 bytes) */
  uint8_t reserved[1];
};

/* Finds a field of an event, or one of the common fields. -EINVAL: there is no such event, or an
 * argument is NULL. -ENOENT: the event has no such field. */
PATCHBAY_EXPORTED int patchbay_find_field(const char* system, const char* event, const char* name,
                                          struct patchbay_field_place* field);

/* The following functions may be called anywhere, also in signal handlers. */

/* Returns a number, widened to 64 bits. Returns 0 when the field is no number, or is not in the
 * record. */
static inline uint64_t patchbay_field_u64(const struct patchbay_record* record,
                                          const struct patchbay_field_place* field) {
  const char* at = (const char*)record->data + field->offset;
  uint64_t u64;
  uint32_t u32;
  uint16_t u16;
  if (field->kind != PATCHBAY_FIELD_NUMBER) return 0;
  if ((size_t)field->offset + field->size > record->size) return 0;
  switch (field->size) {
    case 8:
      memcpy(&u64, at, sizeof u64);
      return u64;
    case 4:
      memcpy(&u32, at, sizeof u32);
      return field->is_signed ? (uint64_t)(int32_t)u32 : u32;
    case 2:
      memcpy(&u16, at, sizeof u16);
      return field->is_signed ? (uint64_t)(int16_t)u16 : u16;
    case 1:
      return field->is_signed ? (uint64_t)(int8_t)*at : (uint8_t)*at;
    default:
      return 0;
  }
}
static inline int64_t patchbay_field_s64(const struct patchbay_record* record,
                                         const struct patchbay_field_place* field) {
  return (int64_t)patchbay_field_u64(record, field);
}

/* Returns a number of any type as a double. */
static inline double patchbay_field_f64(const struct patchbay_record* record,
                                        const struct patchbay_field_place* field) {
  const uint64_t word = patchbay_field_u64(record, field);
  const uint32_t half = (uint32_t)word;
  double f64;
  float f32;
  if (!field->is_float) return field->is_signed ? (double)(int64_t)word : (double)word;
  memcpy(&f64, &word, sizeof f64);
  memcpy(&f32, &half, sizeof f32);
  return field->size == sizeof f32 ? (double)f32 : f64;
}

/* Returns the bytes of a field, and stores their number in `size`. Returns NULL when the field is
 * not in the record. */
static inline const void* patchbay_field_bytes(const struct patchbay_record* record,
                                               const struct patchbay_field_place* field,
                                               size_t* size) {
  size_t offset = field->offset, length = field->size;
  *size = 0;
  if (!length || offset + length > record->size) return NULL;
  if (field->kind == PATCHBAY_FIELD_DYNAMIC) {
    uint32_t where;
    memcpy(&where, (const char*)record->data + offset, sizeof where);
    offset = where & 0xffff;
    length = where >> 16;
    if (offset + length > record->size) return NULL;
  }
  *size = length;
  return (const char*)record->data + offset;
}
/* Returns a text, and stores its length in bytes without the NUL. The text ends with a NUL, unless
 * it fills a field of the kind TEXT. */
static inline const char* patchbay_field_text(const struct patchbay_record* record,
                                              const struct patchbay_field_place* field,
                                              size_t* length) {
  size_t size;
  const char* text = (const char*)patchbay_field_bytes(record, field, &size);
  *length = 0;
  if (text && field->kind != PATCHBAY_FIELD_NUMBER) {
    const char* end = (const char*)memchr(text, 0, size); /* C11 has no strnlen() */
    *length = end ? (size_t)(end - text) : size;
  }
  return text;
}

#ifdef __cplusplus
}
#endif
#endif
