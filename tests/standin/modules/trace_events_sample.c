// SPDX-License-Identifier: MIT
// A module of the stand-in kernel: a thread of its own hits two events ten times a second.
#include <patchbay/trace_event.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

PB_TRACE_EVENT(sample_trace, foo_bar,
               PB_FIELDS(PB_FIELD(const char*, foo), PB_FIELD(int, bar)),
               PB_PRINT("foo %p %d", REC->foo, REC->bar));
PB_TRACE_EVENT(sample_trace, foo_bar_with_cond,
               PB_FIELDS(PB_FIELD(const char*, foo), PB_FIELD(int, bar)),
               PB_PRINT("foo %p %d", REC->foo, REC->bar));

static pthread_t thread;
static bool ends;

static void* simple_thread(void* unused) {
  (void)unused;
  const struct timespec nap = {0, 100000000};
  for (int count = 0; !__atomic_load_n(&ends, __ATOMIC_ACQUIRE); count++) {
    PB_TRACE(foo_bar, "hello", count);
    PB_TRACE(foo_bar_with_cond, "Some times print", count);
    nanosleep(&nap, NULL);
  }
  return NULL;
}

__attribute__((constructor)) static void load(void) {
  pthread_create(&thread, NULL, simple_thread, NULL);
}
__attribute__((destructor)) static void unload(void) {
  __atomic_store_n(&ends, true, __ATOMIC_RELEASE);
  pthread_join(thread, NULL);
}
