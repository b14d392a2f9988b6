/* SPDX-License-Identifier: MIT
 *
 * Trace arrays and printk of a program that traces itself (patchbay/trace.h), one part a run:
 *
 *   api_trace_array references      making, finding, holding and removing instances
 *   api_trace_array events          switching events of instances
 *   api_trace_array recording       tracing_on and tracing_off
 *   api_trace_array snapshots       all the ways to take one
 *   api_trace_array printk          lines of all kinds; leaves instances and their texts behind
 *   api_trace_array signals         lines out of a signal handler
 *   api_trace_array fork            lines out of a child, which may change nothing
 *   api_trace_array nothing         without an agent: every function answers
 *   api_trace_array churn N SEED    N instances made and removed by 4 threads beside a busy one
 *
 * Prints "ok", or the lines of the checks that failed.
 */
#include <errno.h>
#include <patchbay/patchbay.h>
#include <patchbay/trace.h>
#include <patchbay/trace_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

PB_TRACE_EVENT(apitest, tick, PB_FIELDS(PB_FIELD(int, n)));
PB_TRACE_EVENT(apitest, tock, PB_FIELDS(PB_FIELD(int, n)));

static int g_failures;

#define CHECK(condition)                                             \
  do {                                                               \
    if (!(condition)) {                                              \
      printf("%s:%d: not so: %s\n", __func__, __LINE__, #condition); \
      __atomic_fetch_add(&g_failures, 1, __ATOMIC_RELAXED);          \
    }                                                                \
  } while (0)

static long error_of(const struct trace_array* tr) {
  const long value = (long)(intptr_t)tr;
  return value < 0 && value > -4096 ? value : 0;
}

/* The lines of an instance's trace without comments; to be freed. */
static char* trace_of(const char* instance) {
  char path[300];
  if (*instance)
    snprintf(path, sizeof path, "instances/%s/trace", instance);
  else
    snprintf(path, sizeof path, "trace");
  ssize_t size = patchbay_read(path, NULL, 0);
  char* text = calloc(1, (size_t)(size > 0 ? size : 0) + 65536);
  if (patchbay_read(path, text, (size_t)(size > 0 ? size : 0) + 65536) < 0) *text = '\0';
  return text;
}

static int count_in(const char* instance, const char* word) {
  char* text = trace_of(instance);
  int count = 0;
  for (const char* at = text; (at = strstr(at, word)) != NULL; at++) count++;
  free(text);
  return count;
}

/* --- making, finding, holding, removing */

static __attribute__((noinline)) int references(void) {
  struct trace_array* tr = trace_array_create("one");
  CHECK(tr && !error_of(tr));
  CHECK(error_of(trace_array_create("one")) == -EEXIST);
  CHECK(trace_array_printk((struct trace_array*)-EEXIST, 0, "x") == -ENOENT);
  CHECK(*trace_array_name((struct trace_array*)-EEXIST) == 0);
  CHECK(error_of(trace_array_create(NULL)) == -EINVAL);
  CHECK(error_of(trace_array_create("a/b")) == -EINVAL);
  CHECK(error_of(trace_array_create("")) == -EINVAL);
  CHECK(strcmp(trace_array_name(tr), "one") == 0);
  /* Created: no reference is held. */
  CHECK(trace_array_destroy(tr) == 0);
  CHECK(trace_array_destroy(tr) == -ENODEV);
  CHECK(trace_array_destroy(NULL) == -EINVAL);
  CHECK(trace_array_destroy((struct trace_array*)&g_failures) == -ENODEV);

  tr = trace_array_get_by_name("two", NULL);
  CHECK(tr != NULL);
  CHECK(trace_array_get_by_name("two", NULL) == tr);
  CHECK(trace_array_get_by_name(NULL, NULL) == NULL);
  CHECK(trace_array_get_by_name("a/b", NULL) == NULL);
  CHECK(trace_array_destroy(tr) == -EBUSY);
  trace_array_put(tr);
  CHECK(trace_array_destroy(tr) == -EBUSY);
  trace_array_put(tr);
  trace_array_put(tr); /* one too many */
  trace_array_put(NULL);
  CHECK(trace_array_destroy(tr) == 0);

  /* The old object stays what it was: nothing, also when the name is taken again. */
  struct trace_array* again = trace_array_get_by_name("two", NULL);
  CHECK(again && again != tr);
  CHECK(trace_array_destroy(tr) == -ENODEV);
  CHECK(trace_array_init_printk(tr) == -ENODEV);
  CHECK(trace_array_set_clr_event(tr, "apitest", NULL, true) == -ENODEV);
  CHECK(trace_array_printk(tr, 0, "into nothing\n") == 0);
  CHECK(tracer_tracing_is_on(tr) == 0);
  tracer_tracing_on(tr);
  CHECK(tracer_tracing_is_on(tr) == 0);
  trace_array_put(tr);
  CHECK(trace_array_destroy(again) == -EBUSY);

  /* Only some systems. */
  struct trace_array* some = trace_array_get_by_name("some", "apitest,nothing");
  CHECK(trace_array_set_clr_event(some, "apitest", "tick", true) == 0);
  CHECK(trace_array_set_clr_event(some, "ftrace", NULL, true) == -EINVAL);
  char format[64];
  CHECK(patchbay_read("instances/some/events/ftrace/print/id", format, sizeof format) == -ENOENT);
  CHECK(patchbay_read("instances/two/events/ftrace/print/id", format, sizeof format) > 0);

  /* All of them, the top one first. */
  char names[200] = "";
  struct trace_array* each;
  trace_array_for_each(each) {
    strcat(names, trace_array_name(each));
    strcat(names, ";");
  }
  CHECK(strcmp(names, ";some;two;") == 0);
  CHECK(trace_array_destroy(trace_array_next(NULL)) == -EINVAL);
  CHECK(trace_array_next((struct trace_array*)&g_failures) == NULL);
  trace_array_put(some);
  trace_array_put(again);
  CHECK(trace_array_destroy(some) == 0 && trace_array_destroy(again) == 0);
  CHECK(trace_array_next(some) == NULL);
  return 0;
}

static __attribute__((noinline)) int events(void) {
  struct trace_array* tr = trace_array_get_by_name("ev", NULL);
  char word[] = "apitest:tock";
  CHECK(trace_array_set_clr_event(NULL, "apitest", NULL, true) == -ENOENT);
  CHECK(trace_array_set_clr_event(tr, "nosuch", NULL, true) == -EINVAL);
  CHECK(trace_array_set_clr_event(tr, NULL, "nosuch", true) == -EINVAL);
  CHECK(trace_array_set_clr_event(tr, "apitest", "tick", true) == 0);
  PB_TRACE(tick, 1);
  PB_TRACE(tock, 2);
  CHECK(count_in("ev", "tick: n=1") == 1);
  CHECK(count_in("ev", "tock") == 0);
  CHECK(ftrace_set_clr_event(tr, word, 1) == 0);
  CHECK(strcmp(word, "apitest:tock") == 0);
  CHECK(ftrace_set_clr_event(NULL, word, 1) == -ENOENT);
  CHECK(ftrace_set_clr_event(tr, NULL, 1) == -EINVAL);
  PB_TRACE(tock, 3);
  CHECK(count_in("ev", "tock: n=3") == 1);
  CHECK(trace_array_set_clr_event(tr, NULL, "tick", false) == 0);
  CHECK(ftrace_set_clr_event(tr, word, 0) == 0);
  PB_TRACE(tick, 4);
  PB_TRACE(tock, 5);
  CHECK(count_in("ev", "n=4") == 0 && count_in("ev", "n=5") == 0);
  CHECK(trace_set_clr_event("apitest", "tick", 1) == 0);
  CHECK(trace_set_clr_event("nosuch", NULL, 1) == -EINVAL);
  PB_TRACE(tick, 6);
  CHECK(count_in("", "tick: n=6") == 1 && count_in("ev", "n=6") == 0);
  CHECK(trace_set_clr_event("apitest", NULL, 0) == 0);
  trace_array_put(tr);
  return trace_array_destroy(tr);
}

static __attribute__((noinline)) int recording(void) {
  struct trace_array* tr = trace_array_get_by_name("rec", NULL);
  CHECK(tracing_is_on() == 1 && tracer_tracing_is_on(tr) == 1);
  CHECK(trace_array_init_printk(tr) == 0);
  tracing_off();
  CHECK(tracing_is_on() == 0 && tracer_tracing_is_on(tr) == 1);
  CHECK(trace_array_printk(tr, _THIS_IP_, "still on\n") > 0);
  tracer_tracing_off(tr);
  CHECK(tracer_tracing_is_on(tr) == 0);
  CHECK(trace_array_printk(tr, _THIS_IP_, "off now\n") == 0);
  tracing_on();
  tracer_tracing_on(tr);
  CHECK(tracing_is_on() == 1 && tracer_tracing_is_on(tr) == 1);
  CHECK(trace_array_printk(tr, _THIS_IP_, "on again\n") > 0);
  CHECK(count_in("rec", "still on") == 1 && count_in("rec", "off now") == 0);
  CHECK(count_in("rec", "on again") == 1);
  CHECK(tracer_tracing_is_on(NULL) == 0);
  /* Another size is another buffer. */
  CHECK(patchbay_write("instances/rec/buffer_size_kb", "64") == 0);
  CHECK(trace_array_printk(tr, _THIS_IP_, "in another buffer %d\n", 5) > 0);
  CHECK(count_in("rec", "in another buffer 5") == 1 && count_in("rec", "still on") == 1);
  trace_array_put(tr);
  return trace_array_destroy(tr);
}

/* --- snapshots */

static bool decide(struct trace_array* tr, void* cond_data) {
  (void)tr;
  return cond_data && *(int*)cond_data;
}

static int count_kept(const char* word) {
  char text[65536];
  int count = 0;
  if (patchbay_read("instances/snap/snapshot", text, sizeof text) < 0) return -1;
  for (const char* at = text; (at = strstr(at, word)) != NULL; at++) count++;
  return count;
}

static __attribute__((noinline)) int snapshots(void) {
  struct trace_array* tr = trace_array_get_by_name("snap", NULL);
  int no = 0, yes = 1;
  CHECK(trace_array_init_printk(tr) == 0);
  tracing_snapshot_instance(tr); /* there is no spare buffer */
  CHECK(count_in("snap", "snapshots: *** SNAPSHOT NOT ALLOCATED ***") == 1);
  CHECK(count_in("snap", "*** stopping trace here!   ***") == 1);
  CHECK(tracer_tracing_is_on(tr) == 0);
  tracer_tracing_on(tr);
  CHECK(tracing_alloc_snapshot_instance(tr) == 0);
  CHECK(tracing_alloc_snapshot_instance(NULL) == -ENODEV);
  trace_array_printk(tr, _THIS_IP_, "before\n");
  tracing_snapshot_instance(tr);
  trace_array_printk(tr, _THIS_IP_, "behind\n");
  CHECK(count_kept(": before") == 1 && count_kept(": behind") == 0);
  CHECK(count_in("snap", ": before") == 0 && count_in("snap", ": behind") == 1);

  CHECK(tracing_cond_snapshot_data(tr) == NULL);
  CHECK(tracing_snapshot_cond_disable(tr) == -EINVAL);
  CHECK(tracing_snapshot_cond_enable(NULL, &no, decide) == -EINVAL);
  CHECK(tracing_snapshot_cond_enable(tr, &no, NULL) == -EINVAL);
  CHECK(tracing_snapshot_cond_enable(tr, &no, decide) == 0);
  CHECK(tracing_snapshot_cond_enable(tr, &no, decide) == -EBUSY);
  CHECK(tracing_cond_snapshot_data(tr) == &no);
  CHECK(patchbay_write("instances/snap/snapshot", "1") == -EBUSY);
  tracing_snapshot_cond(tr, &no);
  tracing_snapshot_instance(tr); /* asks with NULL */
  CHECK(count_kept(": behind") == 0);
  tracing_snapshot_cond(tr, &yes);
  CHECK(count_kept(": behind") == 1);
  CHECK(tracing_snapshot_cond_disable(tr) == 0);
  CHECK(patchbay_write("instances/snap/snapshot", "1") == 0);
  trace_array_printk(tr, _THIS_IP_, "unconditional\n");
  tracing_snapshot_cond(tr, NULL);
  CHECK(count_kept("unconditional") == 1);

  CHECK(tracing_alloc_snapshot() == 0);
  trace_printk("at the top %d\n", 1);
  tracing_snapshot();
  CHECK(count_in("", "at the top") == 0);
  trace_printk("at the top %d\n", 2);
  tracing_snapshot_alloc();
  CHECK(count_in("", "at the top") == 0);
  trace_array_put(tr);
  return trace_array_destroy(tr);
}

/* --- printk */

static __attribute__((constructor)) void before_main(void) { trace_printk("a constructor\n"); }

static __attribute__((noinline)) int vprint(struct trace_array* tr, const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const int written = trace_array_vprintk(tr, _THIS_IP_, fmt, args);
  va_end(args);
  return written;
}

static __attribute__((noinline)) void callee(void) {
  trace_dump_stack(0);
  trace_dump_stack(1);
  __asm__ volatile("");
}

static __attribute__((noinline)) int print_lines(void) {
  struct trace_array* tr = trace_array_get_by_name("pr", NULL);
  char changing[] = "a format in memory %d %s %f\n";
  const char* volatile none = NULL;
  const char* volatile wild = (const char*)(intptr_t)8;
  CHECK(trace_array_printk(NULL, 0, "x\n") == -ENOENT);
  CHECK(trace_array_init_printk(NULL) == -ENOENT);
  CHECK(trace_array_init_printk(trace_array_next(NULL)) == -EINVAL);
  CHECK(trace_array_init_printk(tr) == 0);
  CHECK(trace_array_printk(trace_array_next(NULL), 0, "the top one %d\n", 1) == 0);
  CHECK(trace_array_printk(tr, _THIS_IP_, "two integers %d %d\n", 1, -2) > 0);
  CHECK(trace_array_printk(tr, _THIS_IP_, "%s is %ld of %llx at %zu\n", "text", -5L, 0xabcULL,
                           (size_t)7) > 0);
  CHECK(trace_array_printk(tr, _THIS_IP_, "aligned |%-6d|%6s|%-6s|%c|%*d\n", 42, "ab", "cd", 'x', 5,
                           7) > 0);
  CHECK(trace_array_printk(tr, _THIS_IP_, "bad %s %s end\n", none, wild) > 0);
  CHECK(trace_array_printk(tr, _THIS_IP_, "real %.3f and %g\n", 3.14159, 1e10) > 0);
  CHECK(trace_array_printk(tr, _THIS_IP_, "quote \"%s\" tab\t back\\slash %d%%\n", "q", 99) > 0);
  CHECK(trace_array_printk(tr, _THIS_IP_, "no arguments\n") > 0);
  CHECK(trace_array_printk(tr, _THIS_IP_, "a \"quote\" without arguments\n") > 0);
  CHECK(trace_array_printk(tr, _THIS_IP_, changing, 1, "one", 0.5) > 0);
  memcpy(changing, "ANOTHER", 7);
  CHECK(trace_array_printk(tr, _THIS_IP_, changing, 2, "two", 1.5) > 0);
  int (*volatile print)(struct trace_array*, const char*, ...) = vprint; /* its name stays */
  CHECK(print(tr, "through a list %d %s\n", 3, "three") > 0);
  CHECK(trace_array_printk(tr, 0, "without a place\n") > 0);
  CHECK(trace_array_printk(tr, _THIS_IP_, "pointer %p\n", (void*)0x1234) > 0);
  trace_array_put(tr);

  CHECK(count_in("", "before_main: a constructor") == 1);
  CHECK(trace_printk("hello %d %s\n", 5, "world") > 0);
  CHECK(trace_printk("only a text\n") > 0);
  CHECK(trace_puts("a constant\n") > 0);
  strcpy(changing, "a text in memory");
  const char* volatile text = changing;
  CHECK(trace_puts(text) > 0);
  CHECK(patchbay_write("options/trace_printk", "0") == 0);
  CHECK(trace_printk("switched off %d\n", 1) == 0 && trace_puts("switched off\n") == 0);
  CHECK(trace_array_printk(tr, _THIS_IP_, "its own option %d\n", 1) > 0);
  CHECK(patchbay_write("options/trace_printk", "1") == 0);
  callee();

  /* Where trace_printk goes. */
  struct trace_array* dest = trace_array_get_by_name("dest", NULL);
  CHECK(patchbay_write("instances/dest/options/trace_printk_dest", "1") == 0);
  CHECK(trace_printk("to the instance %d\n", 1) > 0);
  CHECK(count_in("dest", "to the instance 1") == 1 && count_in("", "to the instance") == 0);
  trace_array_put(dest);
  CHECK(trace_array_destroy(dest) == 0);
  CHECK(trace_printk("back at the top %d\n", 2) > 0);
  CHECK(count_in("", "back at the top 2") == 1);
  return 0;
}

/* --- signals */

static struct trace_array* g_signal_array;
static volatile sig_atomic_t g_signals;

static void on_signal(int number) {
  const int saved = errno;
  g_signals++;
  trace_array_printk(g_signal_array, _THIS_IP_, "signal %d of %d %s\n", (int)g_signals, number,
                     "text");
  tracer_tracing_on(g_signal_array);
  errno = saved;
}

static __attribute__((noinline)) int signals(void) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
  g_signal_array = trace_array_get_by_name("sig", NULL);
  CHECK(trace_array_init_printk(g_signal_array) == 0);
  CHECK(patchbay_write("instances/sig/buffer_size_kb", "8192") == 0);
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  int lines = 0, made = 0;
  while (g_signals < 200) {
    if (lines < 40000)
      lines += trace_array_printk(g_signal_array, _THIS_IP_, "main %d\n", lines) > 0;
    struct trace_array* other = trace_array_create("other"); /* handlers interrupt this, too */
    if (!error_of(other)) made += trace_array_destroy(other) == 0;
  }
  setitimer(ITIMER_REAL, &never, NULL);
  CHECK(made > 0);
  CHECK(count_in("sig", ": main ") == lines);
  CHECK(count_in("sig", ": signal ") == (int)g_signals);
  trace_array_put(g_signal_array);
  return trace_array_destroy(g_signal_array);
}

/* --- a forked child */

static int child(struct trace_array* tr) {
  CHECK(trace_array_printk(tr, _THIS_IP_, "in the child %d\n", 1) > 0);
  CHECK(trace_array_printk(tr, _THIS_IP_, "a new format of the child %d\n", 1) > 0);
  CHECK(error_of(trace_array_create("childs")) == -ESRCH);
  CHECK(trace_array_get_by_name("fk", NULL) == NULL);
  CHECK(trace_array_destroy(tr) == -ESRCH && trace_array_init_printk(tr) == -ESRCH);
  CHECK(trace_array_set_clr_event(tr, NULL, NULL, true) == -ESRCH);
  CHECK(trace_set_clr_event(NULL, NULL, 1) == -ESRCH);
  CHECK(tracing_alloc_snapshot() == -ESRCH && trace_array_next(NULL) == NULL);
  tracer_tracing_off(tr);
  tracing_off();
  tracing_snapshot();
  trace_array_put(tr);
  CHECK(tracer_tracing_is_on(tr) == 1);
  fflush(stdout);
  return g_failures;
}

static __attribute__((noinline)) int forked(void) {
  struct trace_array* tr = trace_array_get_by_name("fk", NULL);
  int status = -1;
  CHECK(trace_array_init_printk(tr) == 0);
  fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) _exit(child(tr));
  CHECK(waitpid(pid, &status, 0) == pid && status == 0);
  CHECK(count_in("fk", "in the child 1") == 1);
  CHECK(count_in("fk", "a new format of the child 1") == 1);
  CHECK(tracer_tracing_is_on(tr) == 1 && tracing_is_on() == 1);
  trace_array_put(tr);
  return trace_array_destroy(tr);
}

/* --- without an agent */

static __attribute__((noinline)) int nothing(void) {
  static int none[64];
  struct trace_array* tr = NULL;
  (void)none;
  CHECK(error_of(trace_array_create("x")) == -ESRCH);
  CHECK(trace_array_get_by_name("x", NULL) == NULL && trace_array_next(NULL) == NULL);
  CHECK(trace_array_destroy(tr) == -EINVAL && trace_array_printk(tr, 0, "x\n") == -ENOENT);
  CHECK(trace_printk("x %d\n", 1) == 0 && trace_puts("x\n") == 0);
  CHECK(trace_set_clr_event(NULL, NULL, 1) == -ESRCH);
  CHECK(tracing_alloc_snapshot() == -ESRCH);
  trace_printk_init_buffers();
  trace_array_put(tr);
  tracing_on();
  tracing_off();
  CHECK(tracing_is_on() == 0);
  tracing_snapshot();
  tracing_snapshot_alloc();
  trace_dump_stack(0);
  return 0;
}

/* --- many instances beside a busy one */

static uint32_t g_seed, g_instances;
static uint32_t g_made, g_stop;

static uint32_t next_random(uint32_t* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static void use_instance(struct trace_array* tr, uint32_t* state) {
  if (next_random(state) % 3 == 0) CHECK(trace_array_set_clr_event(tr, "apitest", NULL, true) == 0);
  for (uint32_t i = next_random(state) % 20; i > 0; i--) {
    trace_array_printk(tr, _THIS_IP_, "of its own %u\n", i);
    PB_TRACE(tick, -1);
  }
  if (next_random(state) % 4 == 0) {
    CHECK(tracing_alloc_snapshot_instance(tr) == 0);
    tracing_snapshot_instance(tr);
  }
  if (next_random(state) % 4 == 0) tracer_tracing_off(tr);
}

static void* churn_thread(void* number) {
  uint32_t state = g_seed + (uint32_t)(uintptr_t)number * 7919, count;
  while ((count = __atomic_fetch_add(&g_made, 1, __ATOMIC_RELAXED)) < g_instances) {
    char name[40];
    snprintf(name, sizeof name, "churn%u", count);
    struct trace_array* tr = trace_array_get_by_name(name, NULL);
    CHECK(tr != NULL);
    if (!tr) break;
    use_instance(tr, &state);
    CHECK(trace_array_destroy(tr) == -EBUSY);
    trace_array_put(tr);
    CHECK(trace_array_destroy(tr) == 0);
    CHECK(trace_array_printk(tr, 0, "too late %u\n", count) == 0);
  }
  return NULL;
}

/* Every tick of this thread is in the instance that nobody touches, and every line of printk. */
static void* busy_thread(void* array) {
  int n = 0;
  while (!__atomic_load_n(&g_stop, __ATOMIC_RELAXED) && n < 100000) {
    PB_TRACE(tock, n);
    CHECK(trace_array_printk(array, _THIS_IP_, "busy %d\n", n) > 0);
    n++;
    if (n % 64 == 0) usleep(1000);
  }
  return (void*)(intptr_t)n;
}

/* Without buffers, which are files. */
static long resident_kb(void) {
  char line[200];
  long kb = 0;
  FILE* file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "RssAnon: %ld", &kb) == 1) break;
  if (file) fclose(file);
  return kb;
}
static int lines_of(const char* path) {
  int lines = 0, c;
  FILE* file = fopen(path, "r");
  while (file && (c = fgetc(file)) != EOF) lines += c == '\n';
  if (file) fclose(file);
  return lines;
}

static void churn_once(uint32_t instances) {
  pthread_t threads[4];
  g_made = 0;
  g_instances = instances;
  for (uintptr_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, churn_thread, (void*)i);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

static int churn(uint32_t instances, uint32_t seed) {
  struct trace_array* busy = trace_array_get_by_name("busy", NULL);
  pthread_t thread;
  void* count = NULL;
  g_seed = seed;
  CHECK(trace_array_init_printk(busy) == 0);
  CHECK(patchbay_write("instances/busy/buffer_size_kb", "16384") == 0);
  CHECK(trace_array_set_clr_event(busy, "apitest", "tock", true) == 0);
  pthread_create(&thread, NULL, busy_thread, busy);
  churn_once(instances / 10 + 4);
  const long before_kb = resident_kb();
  const int before_maps = lines_of("/proc/self/maps");
  churn_once(instances);
  const long after_kb = resident_kb();
  const int after_maps = lines_of("/proc/self/maps");
  __atomic_store_n(&g_stop, 1, __ATOMIC_RELAXED);
  pthread_join(thread, &count);
  const int n = (int)(intptr_t)count;
  CHECK(count_in("busy", "tock: n=") == n);
  CHECK(count_in("busy", ": busy ") == n);
  fprintf(stderr, "churn: %u instances, %d lines beside them, +%ld kB, +%d mappings\n", instances,
          n, after_kb - before_kb, after_maps - before_maps);
  /* What a thread may still look at is kept: some words for each instance. */
  CHECK(after_kb - before_kb < 2048 + (long)instances);
  CHECK(after_maps - before_maps < 60);
  trace_array_put(busy);
  return trace_array_destroy(busy);
}

int main(int argc, char** argv) {
  const char* part = argc > 1 ? argv[1] : "";
  int result = -1;
  if (strcmp(part, "references") == 0) result = references();
  if (strcmp(part, "events") == 0) result = events();
  if (strcmp(part, "recording") == 0) result = recording();
  if (strcmp(part, "snapshots") == 0) result = snapshots();
  if (strcmp(part, "printk") == 0) result = print_lines();
  if (strcmp(part, "signals") == 0) result = signals();
  if (strcmp(part, "fork") == 0) result = forked();
  if (strcmp(part, "nothing") == 0) result = nothing();
  if (strcmp(part, "churn") == 0 && argc > 3)
    result = churn((uint32_t)strtoul(argv[2], NULL, 0), (uint32_t)strtoul(argv[3], NULL, 0));
  CHECK(result == 0);
  if (g_failures == 0) puts("ok");
  return g_failures != 0;
}
