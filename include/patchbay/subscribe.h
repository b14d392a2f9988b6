/* SPDX-License-Identifier: MIT
 *
 * The program listens to its own events: a callback is given each record of an event, whatever
 * makes it (a static event, a function event, a probe, a synthetic event), for a state machine that
 * watches what happens and acts when it should not. The event need not be enabled, and is recorded
 * no more than without. C11 and C++; the program is linked with libpatchbay.
 *
 *   static struct patchbay_field_place state;
 *   static void changed(const struct patchbay_record* record, void* data) {
 *     if (patchbay_field_u64(record, &state) == kLost) …
 *   }
 *   patchbay_find_field("net", "link_change", "state", &state);
 *   patchbay_subscribe(NULL, "net", "link_change", "state != 1", changed, data, &subscription);
 *   …
 *   patchbay_unsubscribe(subscription);       nobody is in changed() any more
 *
 * A callback runs in the thread that the event happens in, behind the record (tracing_snapshot()
 * there has it). It must return: no longjmp, no exception. errno has to be left as it was. Of a
 * static event it may do all that the program may do at that place, also with Patchbay's functions.
 * Of other events it runs wherever they are hit, in a signal handler, inside malloc(): there it may
 * do what a signal handler may. What it calls records events as ever, but a hit inside of a
 * callback calls no callback (patchbay_subscription_missed()). Forked children call none. Those of
 * a library that is unloaded go with it (patchbay/this_module.h): they are unsubscribed then.
 *
 * Results are 0 or a negative errno. -ESRCH: no agent runs in this process (or it is a forked
 * child). -EDEADLK: the thread is inside Patchbay already, or in a callback of an event that is not
 * static. -ENOMEM. Any thread; not from signal handlers; they wait while another command is being
 * carried out.
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

/* What a callback is given, as long as it runs. */
struct patchbay_record {
  const void* data; /* the record as in the ring: `format` of the event says what is where */
  uint32_t size;    /* bytes */
  uint32_t pid;     /* of the thread, as the record has it */
};

typedef void (*patchbay_record_fn)(const struct patchbay_record* record, void* data);

struct patchbay_subscription;

/* instance: NULL for the top one. filter: as for the event's `filter` file; NULL: every record.
 * -ENOENT: no such instance. -EINVAL: no such event (or a NULL); or the filter, and error_log says
 * where.
 * Ends by itself when the instance goes, or the event with its library: then it is only to be
 * unsubscribed. An event that somebody subscribes to cannot be deleted (-EBUSY). */
PATCHBAY_EXPORTED int patchbay_subscribe(const char* instance, const char* system,
                                         const char* event, const char* filter,
                                         patchbay_record_fn callback, void* data,
                                         struct patchbay_subscription** subscription);
/* Waits until no thread is in the callback. -EINVAL: not subscribed (also when it is done twice).
 * -EBUSY: it will not be called any more, but some thread is in it since 10 seconds, or this one
 * is: then its code and data have to stay. */
PATCHBAY_EXPORTED int patchbay_unsubscribe(struct patchbay_subscription* subscription);
/* Records that did not call it, because their thread was in a callback. */
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

/* Where a field of an event stands in its records. All zero: of no record. */
struct patchbay_field_place {
  uint32_t offset, size; /* bytes; of kind DYNAMIC those of the place that says where it is */
  uint8_t kind;          /* enum patchbay_field_kind */
  uint8_t is_signed;
  uint8_t is_float; /* a number that is a float (4 bytes) or a double (8 bytes) */
  uint8_t reserved[1];
};

/* Also the common fields. -EINVAL: a NULL, no such event. -ENOENT: no such field. */
PATCHBAY_EXPORTED int patchbay_find_field(const char* system, const char* event, const char* name,
                                          struct patchbay_field_place* field);

/* The following may be called anywhere. */

/* A number, widened; 0 of a field that is none, or is not in the record. */
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

/* A number as a double, whatever it is. */
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

/* The bytes of a field and how many; NULL: it is not in the record. */
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
/* A text and its length without the NUL. It ends with a NUL, unless it fills a field of kind TEXT.
 */
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
