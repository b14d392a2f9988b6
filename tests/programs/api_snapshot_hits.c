/* SPDX-License-Identifier: MIT
 * Snapshots that hits take: triggers, function commands, histograms, a forked child, and eight
 * threads with small buffers. A snapshot is what the buffer held at the hit. Prints one line for
 * each thing that is not as it should be, and "ok". */
#include <patchbay/patchbay.h>
#include <patchbay/trace_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

PB_TRACE_EVENT(snap, step, PB_FIELDS(PB_FIELD(int, thread), PB_FIELD(int, id)));

enum { kThreads = 8, kRounds = 6, kRecords = 20000 };
static const char* kTrigger = "events/snap/step/trigger";
static int failures;

static void expect(int good, const char* where, const char* what, long is, long wanted) {
  if (good) return;
  printf("%s: %s: %ld, not %ld\n", where, what, is, wanted);
  failures++;
}

static void put(const char* file, const char* text) {
  if (patchbay_write(file, text) < 0) {
    printf("refused: %s: %s\n", file, text);
    failures++;
  }
}

/* What a file of the top instance shows. */
static struct shown {
  long count, written;                 /* records that are there; that ever were */
  int first[kThreads], last[kThreads]; /* ids of each thread; 0: none */
} seen;

static const struct shown* look(const char* file) {
  static char text[1 << 24];
  memset(&seen, 0, sizeof seen);
  patchbay_read(file, text, sizeof text);
  const char* counts = strstr(text, "entries-written: ");
  if (counts) sscanf(counts, "entries-written: %*d/%ld", &seen.written);
  for (const char* at = text; (at = strstr(at, " step: thread=")); at++) {
    int thread = 0, id = 0;
    if (sscanf(at, " step: thread=%d id=%d", &thread, &id) != 2 || thread >= kThreads) continue;
    if (!seen.first[thread] || id < seen.first[thread]) seen.first[thread] = id;
    if (id > seen.last[thread]) seen.last[thread] = id;
    seen.count++;
  }
  return &seen;
}

/* The snapshot has 1 ... last, and the buffer what came later, up to 3000. */
static void expect_split(const char* where, int last) {
  const struct shown* shown = look("snapshot");
  expect(shown->count == last, where, "records in the snapshot", shown->count, last);
  expect(shown->last[0] == last, where, "the last in the snapshot", shown->last[0], last);
  shown = look("trace");
  expect(shown->count == 3000 - last, where, "records in the buffer", shown->count, 3000 - last);
  expect(shown->first[0] == last + 1, where, "the first there", shown->first[0], last + 1);
  put("snapshot", "2");
  put("snapshot", "1");
  put("snapshot", "2");
}

__attribute__((noinline, noclone)) void fire(int at) {
  __asm__ volatile("" : : "r"(at) : "memory");
}

static void steps(void) {
  for (int id = 1; id <= 3000; id++) {
    PB_TRACE(step, 0, id);
    if (id == 100) fire(id);
  }
}

static void of_one_thread(void) {
  put(kTrigger, "snapshot:1 if id == 100");
  steps();
  expect_split("a trigger with a filter", 100);
  put(kTrigger, "!snapshot");
  put(kTrigger, "snapshot if id == 100 || id == 300 || id == 450");
  steps();
  const struct shown* shown = look("snapshot");
  expect(shown->first[0] == 301 && shown->last[0] == 450, "three hits", "the last of the snapshot",
         shown->last[0], 450);
  put(kTrigger, "!snapshot");
  put("snapshot", "2");
  put("snapshot", "1");
  put("snapshot", "2");
  put(kTrigger, "snapshot:1"); /* the kernel runs it before there is a record */
  steps();
  expect_split("a trigger without a filter", 0);
  put(kTrigger, "!snapshot");
  put("set_ftrace_filter", "fire:snapshot:1");
  steps();
  expect_split("a function command", 100);
  put("set_ftrace_filter", "!fire:snapshot:0");
  put(kTrigger, "hist:keys=thread:x=id:onmax($x).snapshot() if id == 100");
  steps();
  const struct shown* at_maximum = look("snapshot");
  expect(at_maximum->last[0] == 100, "onmax", "the last in the snapshot", at_maximum->last[0], 100);
  expect(at_maximum->count == 100, "onmax", "records in the snapshot", at_maximum->count, 100);
  put(kTrigger, "!hist:keys=thread:x=id:onmax($x).snapshot() if id == 100");
  put("snapshot", "1");
  put("snapshot", "2");
}

static void of_a_child(void) {
  put(kTrigger, "snapshot:1 if id == 100");
  const pid_t child = fork();
  if (child == 0) {
    steps();
    _exit(0);
  }
  waitpid(child, NULL, 0);
  expect_split("a forked child", 100);
  put(kTrigger, "!snapshot");
}

/* --- under load */

static int with_hit; /* rounds */
static volatile int begun, done;
static int before[kThreads], after[kThreads]; /* ids surely before the hit, and surely behind it */

static void* body(void* argument) {
  const int self = (int)(long)argument;
  for (int id = 1; id <= kRecords; id++) {
    const int was_done = done;
    if (self == 0 && id == kRecords / 3) begun = 1;
    PB_TRACE(step, self, id);
    if (self == 0 && id == kRecords / 3) done = 1;
    if (was_done && !after[self]) after[self] = id;
    if (!begun) before[self] = id;
  }
  return NULL;
}

static void under_load(unsigned* seed) {
  char trigger[64];
  put("snapshot", "1");
  put("snapshot", "2");
  begun = done = 0;
  memset(before, 0, sizeof before);
  memset(after, 0, sizeof after);
  snprintf(trigger, sizeof trigger, "snapshot:1 if thread == 0 && id == %d", kRecords / 3);
  put(kTrigger, trigger);
  pthread_t threads[kThreads];
  for (long i = 0; i < kThreads; i++) {
    if (rand_r(seed) % 4 == 0) usleep((unsigned)rand_r(seed) % 500);
    pthread_create(&threads[i], NULL, body, (void*)i);
  }
  for (int i = 0; i < kThreads; i++) pthread_join(threads[i], NULL);
  put(kTrigger, "!snapshot");
  const struct shown moved = *look("snapshot");
  const struct shown rest = *look("trace");
  const long emitted = (long)kThreads * kRecords;
  expect(moved.written + rest.written == emitted, "load", "snapshot + trace + overrun",
         moved.written + rest.written, emitted);
  /* The hit itself is there, unless its thread did not run between record and action for so long
   * that others have filled its small ring anew. */
  expect(moved.last[0] <= kRecords / 3, "load", "later than the hit in the snapshot", moved.last[0],
         kRecords / 3);
  with_hit += moved.last[0] == kRecords / 3;
  for (int i = 0; i < kThreads; i++) {
    expect(!after[i] || moved.last[i] < after[i], "load", "later than the hit in the snapshot",
           moved.last[i], after[i]);
    expect(!rest.first[i] || rest.first[i] > before[i], "load",
           "earlier than the hit in the buffer", rest.first[i], before[i]);
  }
}

int main(void) {
  const char* given = getenv("PATCHBAY_SEED");
  unsigned seed = given ? (unsigned)strtoul(given, NULL, 0) : (unsigned)time(NULL), start = seed;
  put("events/snap/step/enable", "1");
  of_one_thread();
  of_a_child();
  put("buffer_size_kb", "64");
  for (int i = 0; i < kRounds && !failures; i++) under_load(&seed);
  expect(failures || with_hit > 0, "load", "rounds with the hit in the snapshot", with_hit,
         kRounds);
  if (failures) {
    printf("PATCHBAY_SEED=%u\n", start);
    return 1;
  }
  puts("ok");
  return 0;
}
