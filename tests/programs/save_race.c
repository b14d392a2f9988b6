// SPDX-License-Identifier: MIT
// Eight threads hit one key of a histogram with ever larger values, each of which says which hit it
// was: val is three times id.
#include <patchbay/trace_event.h>
#include <pthread.h>
#include <stdio.h>

#include "traced.h"

PB_TRACE_EVENT(race, save, PB_FIELDS(PB_FIELD(int, id), PB_FIELD(long, val)));

static void* run(void* unused) {
  (void)unused;
  for (int i = 0; i < 20000; i++) PB_TRACE(save, i, 3L * i);
  return 0;
}

int main(void) {
  traced(1);
  pthread_t threads[8];
  for (int i = 0; i < 8; i++) pthread_create(&threads[i], 0, run, 0);
  for (int i = 0; i < 8; i++) pthread_join(threads[i], 0);
  printf("save_race: ends\n");
}
