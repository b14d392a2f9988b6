/* SPDX-License-Identifier: MIT
 *
 * Threads that hit events of all kinds, while filters that always match, lists of tasks with all of
 * them, triggers and options are written over and over: whatever a thread is at when that happens,
 * its hit is recorded or counted. Each event is alone in an instance, whose numbers of records and
 * of losses together have to be the number of hits. Prints those that are not, and "ok".
 *
 *   api_changes [THREADS [ROUNDS]]
 */
#include <patchbay/kernel.h>
#include <patchbay/patchbay.h>
#include <patchbay/trace.h>
#include <patchbay/trace_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

PB_TRACE_EVENT(changes, plain, PB_FIELDS(PB_FIELD(long, n)));
PB_TRACE_EVENT(changes, source, PB_FIELDS(PB_FIELD(long, n)));

enum { kMostThreads = 64 };
static int g_threads = 8;
static volatile int g_stop, g_running;
static long g_hits[kMostThreads];
static int g_tids[kMostThreads];
static struct trace_event_file* g_synthetic;

__attribute__((noinline, noclone)) void function_event(long n) { __asm__ volatile("" ::"r"(n)); }
__attribute__((noinline, noclone)) void text_event(const char* s) { __asm__ volatile("" ::"r"(s)); }
__attribute__((noinline, noclone)) void probed(long n) { __asm__ volatile("" ::"r"(n)); }
__attribute__((noinline, noclone)) long returns(long n) {
  __asm__ volatile("" : "+r"(n));
  return n + 1;
}
__attribute__((noinline, noclone)) void traced(void) { __asm__ volatile(""); }

/* What is recorded, and where. `events` makes it, `on` switches it on. */
static const struct Kind {
  const char* instance;
  const char* event; /* SYSTEM/EVENT; NULL: the function tracer */
} kKinds[] = {{"static", "changes/plain"},      {"function", "functions/function_event"},
              {"text", "functions/text_event"}, {"probe", "kprobes/pr"},
              {"return", "kprobes/re"},         {"derived", "eprobes/ep"},
              {"synthetic", "synthetic/made"},  {"tracer", NULL}};
enum { kKindCount = sizeof kKinds / sizeof *kKinds };

static void must_write(const char* path, const char* text) {
  const int answer = patchbay_write(path, text);
  if (answer == 0) return;
  printf("%s > %s: %d\n", text, path, answer);
  exit(1);
}

static void write_of(const struct Kind* kind, const char* file, const char* text) {
  char path[160];
  const int length = snprintf(path, sizeof path, "instances/%s/", kind->instance);
  if (*file == '/' && kind->event)
    snprintf(path + length, sizeof path - length, "events/%s%s", kind->event, file);
  else
    snprintf(path + length, sizeof path - length, "%s", file + (*file == '/'));
  must_write(path, text);
}

static void* run(void* argument) {
  const long self = (long)argument;
  g_tids[self] = (int)syscall(SYS_gettid);
  __atomic_add_fetch(&g_running, 1, __ATOMIC_SEQ_CST);
  long n = 0;
  for (; !g_stop; n++) {
    PB_TRACE(plain, n);
    function_event(n);
    text_event("always");
    probed(n);
    returns(n);
    PB_TRACE(source, n);
    (void)synth_event_trace(g_synthetic, 1, (u64)n);
    traced();
  }
  g_hits[self] = n;
  return NULL;
}

static void define(void) {
  static struct synth_field_desc fields[] = {{"long", "n"}};
  must_write("function_events", "function_event(long n)");
  must_write("function_events", "text_event(string s)");
  must_write("kprobe_events", "p:pr probed n=%di:s64");
  must_write("kprobe_events", "r:re returns n=$retval:s64");
  must_write("dynamic_events", "e:ep changes/source n=$n:s64");
  if (synth_event_create("made", fields, 1, NULL)) exit(1);
  for (const struct Kind* kind = kKinds; kind != kKinds + kKindCount; kind++) {
    trace_array_put(trace_array_get_by_name(kind->instance, NULL));
    write_of(kind, "buffer_size_kb", "256");
  }
  g_synthetic = trace_get_event_file("synthetic", "synthetic", "made");
}

static void start(void) {
  for (const struct Kind* kind = kKinds; kind != kKinds + kKindCount; kind++) {
    if (kind->event) {
      write_of(kind, "/enable", "1");
      continue;
    }
    write_of(kind, "set_ftrace_filter", "traced");
    write_of(kind, "current_tracer", "function");
  }
}

static void change(const struct Kind* kind, int round) {
  static const char* const kFilters[] = {"n >= 0", "n != -1", "0"};
  static const char* const kTextFilters[] = {"s == \"always\"", "s ~ \"*ways\"", "0"};
  const char* const* filters = strcmp(kind->instance, "text") ? kFilters : kTextFilters;
  char tids[kMostThreads * 12] = "";
  for (int i = 0; i < g_threads; i++) sprintf(tids + strlen(tids), "%d ", g_tids[i]);
  switch (round % 4) {
    case 0:
      write_of(kind, kind->event ? "set_event_pid" : "set_ftrace_pid", tids);
      break;
    case 1:
      if (kind->event) write_of(kind, "/trigger", round & 4 ? "!traceon" : "traceon");
      break;
    default:
      if (kind->event) write_of(kind, "/filter", filters[round / 4 % 3]);
  }
}

/* Of a line "NAME: NUMBER" of all per_cpu/cpuN/stats. */
static long sum_of(const struct Kind* kind, const char* name) {
  long sum = 0;
  for (int cpu = 0;; cpu++) {
    char path[96], text[1024];
    snprintf(path, sizeof path, "instances/%s/per_cpu/cpu%d/stats", kind->instance, cpu);
    if (patchbay_read(path, text, sizeof text) < 0) return sum;
    const char* line = strstr(text, name);
    if (line) sum += atol(line + strlen(name));
  }
}

/* An event probe that is on goes after the function event that it stands on, in use by force. */
static int probe_goes_last(void) {
  must_write("function_events", "traced()");
  must_write("dynamic_events", "e:late functions.traced");
  must_write("events/eprobes/late/enable", "1");
  traced();
  const int first = patchbay_event_end("functions", "traced", 0);
  const int last = patchbay_event_end("eprobes", "late", 0);
  traced();
  if (first == 0 && last == 0) return 0;
  printf("ended: %d, then its event probe: %d\n", first, last);
  return 1;
}

int main(int argc, char** argv) {
  g_threads = argc > 1 ? atoi(argv[1]) : 8;
  const int rounds = argc > 2 ? atoi(argv[2]) : 300;
  if (g_threads < 1 || g_threads > kMostThreads) return 2;
  pthread_t threads[kMostThreads];
  define();
  start();
  for (long i = 0; i < g_threads; i++) pthread_create(&threads[i], NULL, run, (void*)i);
  while (g_running < g_threads) usleep(1000);
  for (int round = 0; round < rounds; round++)
    for (const struct Kind* kind = kKinds; kind != kKinds + kKindCount; kind++) change(kind, round);
  g_stop = 1;
  for (int i = 0; i < g_threads; i++) pthread_join(threads[i], NULL);
  long hits = 0;
  int failures = 0;
  for (int i = 0; i < g_threads; i++) hits += g_hits[i];
  for (const struct Kind* kind = kKinds; kind != kKinds + kKindCount; kind++) {
    const long kept = sum_of(kind, "entries: "), overrun = sum_of(kind, "\noverrun: ");
    const long dropped = sum_of(kind, "dropped events: ");
    if (kept + overrun + dropped == hits) continue;
    failures++;
    printf("%s: %ld hits, %ld kept + %ld overwritten + %ld dropped: %ld missing\n", kind->instance,
           hits, kept, overrun, dropped, hits - kept - overrun - dropped);
  }
  fprintf(stderr, "%ld hits of each of %d events\n", hits, kKindCount);
  failures += probe_goes_last();
  if (!failures) puts("ok");
  return failures != 0;
}
