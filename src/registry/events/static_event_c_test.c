// SPDX-License-Identifier: MIT
//
// The C half of static_event_call_test.cc: the same definitions, their records and sites made by a
// C compiler.
#include "registry/events/static_event_test_events.h"

struct patchbay_event* c_event(int index);
struct patchbay_event* c_event(int index) {
  struct patchbay_event* all[] = {&pb_i_event_scalars, &pb_i_event_arrays, &pb_i_event_empty,
                                  &pb_i_event_printed};
  return all[index];
}

void c_emit_arrays(const char* comm, const int* four, const uint8_t* mac, const char* name,
                   const int* values, size_t nr_values, const uint64_t* words, size_t nr_words,
                   const char* last);
void c_emit_arrays(const char* comm, const int* four, const uint8_t* mac, const char* name,
                   const int* values, size_t nr_values, const uint64_t* words, size_t nr_words,
                   const char* last) {
  pb_i_emit_arrays(comm, four, mac, name, values, nr_values, words, nr_words, last);
}

void c_emit_scalars(void);
void c_emit_scalars(void) {
  const struct timespec when = {11, 22};
  pb_i_emit_scalars(true, 'c', 200, -3, 4, -5, 6, -7, 8, 9, -10, 11, 1.5f, 2.5, "p", TEST_BLUE,
                    TEST_DOWN, when);
}

// Returns how many arguments were evaluated; the site is a nop.
int c_use_disabled(void);
int c_use_disabled(void) {
  int evaluated = 0;
  PB_TRACE(empty);
  PB_TRACE(printed, (uint64_t)++evaluated, 2, 3);
  if (PB_TRACE_ENABLED(printed)) evaluated++;
  return evaluated;
}
