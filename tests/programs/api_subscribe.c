/* SPDX-License-Identifier: MIT
 * A program that listens to its own events (patchbay/subscribe.h). Prints one line for each thing
 * that is not as it should be, and "ok". */
#include <errno.h>
#include <patchbay/patchbay.h>
#include <patchbay/subscribe.h>
#include <patchbay/trace.h>
#include <patchbay/trace_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

PB_TRACE_EVENT(net, link_change,
               PB_FIELDS(PB_FIELD(int, state), PB_FIELD(signed char, delta),
                         PB_ARRAY(char, name, 8), PB_STRING(why), PB_DYNAMIC_ARRAY(long, history)));

static int failures;
#define EXPECT(what)                                    \
  do {                                                  \
    if (!(what)) {                                      \
      printf("line %d: not so: %s\n", __LINE__, #what); \
      failures++;                                       \
    }                                                   \
  } while (0)

static int mkdir_instance(const char* name) {
  struct trace_array* made = trace_array_get_by_name(name, NULL);
  trace_array_put(made);
  return made ? 0 : -1;
}

static struct patchbay_field_place state, delta, name, why, history, pid, argument;

static void change(int to, const char* reason) {
  const long past[] = {to, to + 1, to + 2};
  PB_TRACE(link_change, to, (signed char)-to, "eth0", reason, past, (size_t)(to % 4));
}

__attribute__((noinline, noclone)) double halve(double value, int times) {
  __asm__ volatile("");
  return value / times;
}

static volatile long calls, last_state, total;
static volatile double junk;

static void changed(const struct patchbay_record* record, void* data) {
  size_t length;
  calls = calls + 1;
  last_state = (long)patchbay_field_u64(record, &state);
  EXPECT(patchbay_field_s64(record, &delta) == -last_state);
  EXPECT((pid_t)patchbay_field_u64(record, &pid) == (pid_t)record->pid);
  const char* text = patchbay_field_text(record, &name, &length);
  EXPECT(length == 4 && memcmp(text, "eth0", 4) == 0);
  text = patchbay_field_text(record, &why, &length);
  EXPECT(length == strlen((const char*)data) && strcmp(text, (const char*)data) == 0);
  const void* bytes = patchbay_field_bytes(record, &history, &length);
  EXPECT(length == (size_t)(last_state % 4) * sizeof(long));
  if (length) EXPECT(*(const long*)bytes == last_state);
  change(99, "inside of a callback"); /* does not come here again */
}

static void count(const struct patchbay_record* record, void* data) {
  __atomic_add_fetch((long*)data, (long)patchbay_field_u64(record, &state), __ATOMIC_RELAXED);
}

static void halved(const struct patchbay_record* record, void* data) {
  (void)data;
  total = total + (long)patchbay_field_u64(record, &argument);
  struct patchbay_field_place field;
  EXPECT(patchbay_find_field("net", "link_change", "state", &field) == -EDEADLK);
  junk = (double)total * 0.5 + 1; /* spoils vector registers */
}

/* Leaves vector registers alone: none are kept around it. */
__attribute__((target("general-regs-only"))) static void halved_lean(
    const struct patchbay_record* record, void* data) {
  int times;
  __builtin_memcpy(&times, (const char*)record->data + argument.offset, sizeof times);
  *(long*)data += times;
}

/* What a state machine does: it acts where it listens. */
static struct patchbay_subscription* watcher;
static void act(const struct patchbay_record* record, void* data) {
  if (patchbay_field_u64(record, &state) != 13) return;
  *(int*)data += 1;
  EXPECT(patchbay_write("instances/watch/events/net/link_change/enable", "1") == 0);
  EXPECT(patchbay_write("snapshot", "1") == 0);
  EXPECT(patchbay_unsubscribe(watcher) == -EBUSY); /* itself: done, but not left yet */
}

static void mistakes(void) {
  EXPECT(patchbay_write(NULL, "1") == -EINVAL && patchbay_write("tracing_on", NULL) == -EINVAL);
  EXPECT(patchbay_read(NULL, NULL, 0) == -EINVAL && patchbay_read("trace", NULL, 1) == -EINVAL);
  struct patchbay_subscription* none = NULL;
  struct patchbay_field_place field;
  EXPECT(patchbay_subscribe(NULL, NULL, "link_change", NULL, changed, NULL, &none) == -EINVAL);
  EXPECT(patchbay_subscribe(NULL, "net", "link_change", NULL, NULL, NULL, &none) == -EINVAL);
  EXPECT(patchbay_subscribe(NULL, "net", "no_such", NULL, changed, NULL, &none) == -EINVAL);
  EXPECT(patchbay_subscribe("no", "net", "link_change", NULL, changed, NULL, &none) == -ENOENT);
  EXPECT(patchbay_subscribe(NULL, "net", "link_change", "stat == 1", changed, NULL, &none) ==
         -EINVAL);
  EXPECT(none == NULL);
  EXPECT(patchbay_subscribe_with(NULL, "net", "link_change", NULL, changed, NULL, 2, &none) ==
         -EINVAL);
  EXPECT(none == NULL);
  EXPECT(patchbay_unsubscribe(NULL) == -EINVAL);
  EXPECT(patchbay_find_field("net", "link_change", "stat", &field) == -ENOENT);
  EXPECT(patchbay_find_field("net", "no_such", "state", &field) == -EINVAL);
  EXPECT(patchbay_find_field(NULL, "link_change", "state", &field) == -EINVAL);
}

static void find_fields(void) {
  EXPECT(patchbay_find_field("net", "link_change", "state", &state) == 0);
  EXPECT(patchbay_find_field("net", "link_change", "delta", &delta) == 0);
  EXPECT(patchbay_find_field("net", "link_change", "name", &name) == 0);
  EXPECT(patchbay_find_field("net", "link_change", "why", &why) == 0);
  EXPECT(patchbay_find_field("net", "link_change", "history", &history) == 0);
  EXPECT(patchbay_find_field("net", "link_change", "common_pid", &pid) == 0);
  const struct patchbay_record empty = {"", 0, 0};
  size_t length;
  EXPECT(patchbay_field_u64(&empty, &state) == 0);
  EXPECT(patchbay_field_text(&empty, &why, &length) == NULL && length == 0);
}

static void static_event(void) {
  struct patchbay_subscription *all = NULL, *lost = NULL;
  long sum = 0;
  char shown[4096];
  change(1, "nobody listens");
  EXPECT(patchbay_subscribe(NULL, "net", "link_change", NULL, changed, (void*)"why not", &all) ==
         0);
  EXPECT(patchbay_subscribe(NULL, "net", "link_change", "state > 5", count, &sum, &lost) == 0);
  change(3, "why not");
  EXPECT(calls == 1 && last_state == 3 && sum == 0);
  change(7, "why not");
  EXPECT(calls == 2 && last_state == 7 && sum == 7);
  EXPECT(patchbay_subscription_missed(all) == 2 && patchbay_subscription_missed(lost) == 2);
  EXPECT(patchbay_read("trace", shown, sizeof shown) > 0 && !strstr(shown, "link_change:"));
  EXPECT(patchbay_write("events/net/link_change/enable", "1") == 0);
  change(8, "why not");
  EXPECT(calls == 3 && sum == 15);
  EXPECT(patchbay_read("trace", shown, sizeof shown) > 0);
  const char* line = strstr(shown, "link_change: state=8");
  EXPECT(line && strstr(line, "state=99")); /* the callback's event stands behind */
  EXPECT(patchbay_unsubscribe(all) == 0);
  EXPECT(patchbay_unsubscribe(all) == -EINVAL);
  change(9, "ten");
  EXPECT(calls == 3 && sum == 24);
  EXPECT(patchbay_unsubscribe(lost) == 0);
  change(10, "eleven");
  EXPECT(sum == 24);
  EXPECT(patchbay_write("events/net/link_change/enable", "0") == 0);
}

static void function_event(void) {
  struct patchbay_subscription* subscription = NULL;
  EXPECT(patchbay_write("function_events", "halve(int times)") == 0);
  EXPECT(patchbay_find_field("functions", "halve", "times", &argument) == 0);
  EXPECT(patchbay_subscribe(NULL, "functions", "halve", "times != 3", halved, NULL,
                            &subscription) == 0);
  EXPECT(halve(10, 4) == 2.5 && halve(9, 3) == 3 && halve(1, 2) == 0.5);
  EXPECT(total == 6);
  EXPECT(patchbay_write("function_events", "!halve") != 0); /* EBUSY: it is listened to */
  EXPECT(patchbay_unsubscribe(subscription) == 0);
  long sum = 0;
  EXPECT(patchbay_subscribe_with(NULL, "functions", "halve", "times != 3", halved_lean, &sum,
                                 PATCHBAY_SUBSCRIBE_GENERAL_REGS, &subscription) == 0);
  EXPECT(halve(10, 4) == 2.5 && halve(9, 3) == 3 && halve(1, 2) == 0.5);
  EXPECT(sum == 6);
  EXPECT(patchbay_unsubscribe(subscription) == 0);
  EXPECT(patchbay_write("function_events", "!halve") == 0);
}

static void* call_change(void* stop) {
  long n = 0;
  for (; !__atomic_load_n((int*)stop, __ATOMIC_RELAXED); n++) change(1, "load");
  return (void*)n;
}

static void acting(void) {
  int acted = 0;
  char shown[4096];
  EXPECT(patchbay_write("events/net/link_change/enable", "1") == 0);
  EXPECT(mkdir_instance("watch") == 0);
  EXPECT(patchbay_subscribe(NULL, "net", "link_change", NULL, act, &acted, &watcher) == 0);
  change(12, "before");
  change(13, "lost");
  change(13, "again");
  EXPECT(acted == 1);
  EXPECT(patchbay_read("snapshot", shown, sizeof shown) > 0 && strstr(shown, "why=lost"));
  EXPECT(patchbay_read("instances/watch/trace", shown, sizeof shown) > 0);
  EXPECT(strstr(shown, "why=again") && !strstr(shown, "why=before"));
  EXPECT(patchbay_write("events/net/link_change/enable", "0") == 0);
}

/* No call is lost while others come and go. */
static void under_load(void) {
  long sum = 0, made = 0, other = 0;
  int stop = 0;
  struct patchbay_subscription *subscription = NULL, *passing = NULL;
  pthread_t threads[4];
  EXPECT(patchbay_subscribe(NULL, "net", "link_change", NULL, count, &sum, &subscription) == 0);
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, call_change, &stop);
  for (int i = 0; i < 200; i++) {
    EXPECT(patchbay_subscribe(NULL, "net", "link_change", i % 2 ? "state == 1" : NULL, count,
                              &other, &passing) == 0);
    EXPECT(patchbay_unsubscribe(passing) == 0);
    const long at_end = other;
    change(1, "here");
    made++;
    EXPECT(other == at_end);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 4; i++) {
    void* n;
    pthread_join(threads[i], &n);
    made += (long)n;
  }
  EXPECT(patchbay_unsubscribe(subscription) == 0);
  EXPECT(sum == made);
}

/* The same of a function, whose code changes each time; and while its event is recorded or not. */
__attribute__((noinline, noclone)) void tick(int n) { __asm__ volatile("" : : "r"(n) : "memory"); }
static void* call_tick(void* stop) {
  long n = 0;
  for (; !__atomic_load_n((int*)stop, __ATOMIC_RELAXED); n++) tick(1);
  return (void*)n;
}
__attribute__((target("general-regs-only"))) static void ticked(
    const struct patchbay_record* record, void* data) {
  int n;
  __builtin_memcpy(&n, (const char*)record->data + argument.offset, sizeof n);
  __atomic_add_fetch((long*)data, n, __ATOMIC_RELAXED);
}
static void function_under_load(void) {
  enum { kThreads = 8 };
  long sum = 0, made = 0, other = 0;
  int stop = 0;
  struct patchbay_subscription *subscription = NULL, *passing = NULL;
  pthread_t threads[kThreads];
  EXPECT(patchbay_write("function_events", "tick(int n)") == 0);
  EXPECT(patchbay_find_field("functions", "tick", "n", &argument) == 0);
  EXPECT(patchbay_subscribe_with(NULL, "functions", "tick", NULL, ticked, &sum,
                                 PATCHBAY_SUBSCRIBE_GENERAL_REGS, &subscription) == 0);
  for (int i = 0; i < kThreads; i++) pthread_create(&threads[i], NULL, call_tick, &stop);
  for (int i = 0; i < 100; i++) {
    EXPECT(patchbay_subscribe_with(NULL, "functions", "tick", i % 3 ? NULL : "n == 1", ticked,
                                   &other, i % 2 ? PATCHBAY_SUBSCRIBE_GENERAL_REGS : 0,
                                   &passing) == 0);
    if (i % 5 == 0) EXPECT(patchbay_write("events/functions/tick/enable", i % 2 ? "0" : "1") == 0);
    tick(1);
    made++;
    EXPECT(__atomic_load_n(&other, __ATOMIC_RELAXED) > 0);
    EXPECT(patchbay_unsubscribe(passing) == 0);
    const long at_end = other;
    tick(1);
    made++;
    EXPECT(other == at_end);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < kThreads; i++) {
    void* n;
    pthread_join(threads[i], &n);
    made += (long)n;
  }
  EXPECT(patchbay_write("events/functions/tick/enable", "0") == 0);
  EXPECT(patchbay_subscription_missed(subscription) == 0);
  EXPECT(patchbay_unsubscribe(subscription) == 0);
  EXPECT(sum == made);
  EXPECT(patchbay_write("function_events", "!tick") == 0);
}

static void what_goes(void) {
  long sum = 0;
  struct patchbay_subscription* in_child = NULL;
  EXPECT(patchbay_subscribe(NULL, "net", "link_change", NULL, count, &sum, &in_child) == 0);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    change(5, "child");
    _exit((sum != 0) | (patchbay_unsubscribe(in_child) != -ESRCH) << 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT(status == 0);
  EXPECT(patchbay_unsubscribe(in_child) == 0);
}

int main(void) {
  if (!*patchbay_directory()) {
    struct patchbay_subscription* none = NULL;
    EXPECT(patchbay_subscribe(NULL, "net", "link_change", NULL, changed, NULL, &none) == -ESRCH);
    printf(failures ? "failed\n" : "no agent\n");
    return failures != 0;
  }
  mistakes();
  find_fields();
  static_event();
  function_event();
  acting();
  under_load();
  function_under_load();
  what_goes();
  puts(failures ? "failed" : "ok");
  return failures != 0;
}
