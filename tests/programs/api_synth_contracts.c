// SPDX-License-Identifier: MIT
//
// What patchbay/trace_events.h promises, answer by answer, and the bad input that it takes: NULLs,
// wrong counts, files that were put, calls from signal handlers, forked children, a constructor
// before the agent, and threads that go on while the process ends. Uses the patchbay_ names only.
//
//   api_synth_contracts             with an agent; "contracts: N checks, 0 failures"
//   api_synth_contracts no_agent    the agent could not start: every function says so
//   api_synth_contracts exit        ends while threads record
#define PATCHBAY_NO_KERNEL_NAMES
#include <errno.h>
#include <patchbay/patchbay.h>
#include <patchbay/trace_events.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int checks, failures;

static void same(int line, const char* what, long expected, long found) {
  checks++;
  if (expected == found) return;
  failures++;
  printf("FAIL line %d: %s: %ld, not %ld\n", line, what, found, expected);
}
#define SAME(expected, call) same(__LINE__, #call, expected, call)

static char g_text[1 << 20];

// How many lines of `trace` contain the text; the last one is left in g_line.
static char g_line[1024];
static int lines_with(const char* file, const char* wanted) {
  int count = 0;
  patchbay_read(file, g_text, sizeof g_text);
  for (char* line = strtok(g_text, "\n"); line; line = strtok(NULL, "\n")) {
    if (line[0] == '#' || !strstr(line, wanted)) continue;
    count++;
    snprintf(g_line, sizeof g_line, "%s", line);
  }
  return count;
}
static void clear(void);
static void has(int line, const char* wanted) {
  checks++;
  if (lines_with("trace", wanted) == 1) {
    clear();
    return;
  }
  failures++;
  patchbay_read("trace", g_text, sizeof g_text);
  printf("FAIL line %d: not one line with \"%s\" in\n%s\n", line, wanted, g_text);
  clear();
}
#define HAS(wanted) has(__LINE__, wanted)

// Another clock empties the buffer.
static void clear(void) {
  static int number;
  patchbay_write("trace_clock", number++ % 2 ? "local" : "mono");
}

static bool is_error(const void* pointer, int error) { return (long)(intptr_t)pointer == -error; }

static int g_before_agent = 1;
static void before_the_agent(int argc, char** argv, char** env) {
  (void)argc, (void)argv, (void)env;
  struct synth_field_desc field = {"int", "a"};
  g_before_agent = patchbay_synth_event_create("too_early", &field, 1, NULL);
}
__attribute__((section(".preinit_array"),
               used)) static void (*g_preinit)(int, char**, char**) = before_the_agent;

static int g_in_constructor = 1;
__attribute__((constructor)) static void in_constructor(void) {
  struct synth_field_desc field = {"int", "a"};
  g_in_constructor = patchbay_synth_event_create("of_constructor", &field, 1, PATCHBAY_THIS_MODULE);
}

static struct synth_field_desc g_fields[] = {
    {"pid_t", "pid"}, {"char[16]", "comm"}, {"u8", "byte"}, {"s16", "half"}, {"u64", "whole"},
};
#define VALUES(pid, comm, byte, half, whole)                                        \
  (uint64_t)(pid), (uint64_t)(uintptr_t)(comm), (uint64_t)(byte), (uint64_t)(half), \
      (uint64_t)(whole)

static struct trace_event_file* file_of(const char* instance, const char* event) {
  return patchbay_trace_get_event_file(instance, "synthetic", event);
}

// --- definitions

static void definitions(void) {
  SAME(-ESRCH, g_before_agent);
  SAME(0, g_in_constructor);
  SAME(0, patchbay_synth_event_delete("of_constructor"));
  SAME(-ENOENT, patchbay_synth_event_delete("of_constructor"));
  SAME(-EINVAL, patchbay_synth_event_delete(NULL));
  SAME(0, patchbay_synth_event_create("ev", g_fields, 5, PATCHBAY_THIS_MODULE));
  SAME(-EEXIST, patchbay_synth_event_create("ev", g_fields, 5, PATCHBAY_THIS_MODULE));
  SAME(-EINVAL, patchbay_synth_event_create("none", g_fields, 0, NULL));
  SAME(-EINVAL, patchbay_synth_event_create(NULL, g_fields, 5, NULL));
  SAME(-EINVAL, patchbay_synth_event_create("none", NULL, 5, NULL));
  SAME(-EINVAL, patchbay_synth_event_create("1none", g_fields, 5, NULL));
  struct synth_field_desc bad[] = {
      {"short", "a"}, {"char[257]", "a"}, {"int", "1a"}, {"int", NULL}};
  for (int i = 0; i < 4; i++) SAME(-EINVAL, patchbay_synth_event_create("none", &bad[i], 1, NULL));
  struct synth_field_desc field = {"int", "a"};
  SAME(0, patchbay_synth_event_create("other", &field, 1, NULL));
  SAME(-EINVAL, patchbay_synth_event_create("!other", &field, 1, NULL));  // it would remove it
  SAME(0, patchbay_synth_event_delete("other"));
}

// --- files

static void files(void) {
  checks += 4;
  failures += !is_error(file_of("no_such_instance", "ev"), ENOENT);
  failures += !is_error(file_of(NULL, "no_such_event"), EINVAL);
  failures += !is_error(patchbay_trace_get_event_file(NULL, NULL, "ev"), EINVAL);
  failures += !is_error(patchbay_trace_get_event_file(NULL, "synthetic", NULL), EINVAL);
  struct trace_event_file* file = file_of(NULL, "ev");
  SAME(true, file == file_of(NULL, "ev"));  // the same object, twice got
  SAME(-EBUSY, patchbay_synth_event_delete("ev"));
  patchbay_trace_put_event_file(file);
  SAME(-EBUSY, patchbay_synth_event_delete("ev"));
  SAME(0, patchbay_synth_event_trace(file, 5, VALUES(1, "a", 2, 3, 4)));
  patchbay_trace_put_event_file(file);
  SAME(-EINVAL, patchbay_synth_event_trace(file, 5, VALUES(1, "a", 2, 3, 4)));
  patchbay_trace_put_event_file(file);  // once too often
  patchbay_trace_put_event_file(NULL);
  patchbay_trace_put_event_file((struct trace_event_file*)(intptr_t)-EINVAL);
  patchbay_trace_put_event_file((struct trace_event_file*)(void*)&checks);
  struct synth_event_trace_state state;
  for (int i = 0; i < 3; i++) {
    struct trace_event_file* none = i == 0   ? NULL
                                    : i == 1 ? (struct trace_event_file*)(intptr_t)-ENOENT
                                             : file;
    SAME(-EINVAL, patchbay_synth_event_trace(none, 5, VALUES(1, "a", 2, 3, 4)));
    SAME(-EINVAL, patchbay_synth_event_trace_start(none, &state));
    SAME(-EINVAL, patchbay_synth_event_add_next_val(1, &state));
    SAME(-EINVAL, patchbay_synth_event_trace_end(&state));
  }
  struct trace_event_file* print = patchbay_trace_get_event_file(NULL, "ftrace", "print");
  SAME(-EINVAL, patchbay_synth_event_trace(print, 0));
  patchbay_trace_put_event_file(print);
  SAME(0, patchbay_synth_event_delete("ev"));
  SAME(0, patchbay_synth_event_create("ev", g_fields, 5, PATCHBAY_THIS_MODULE));
}

// --- recording

static void enable(const char* event, const char* value) {
  char path[256];
  snprintf(path, sizeof path, "events/synthetic/%s/enable", event);
  patchbay_write(path, value);
}

static void values(struct trace_event_file* file) {
  SAME(0, patchbay_synth_event_trace(file, 5, VALUES(-7, "bash", 0x1ff, 0x18000, -1)));
  HAS(" ev: pid=-7 comm=bash byte=255 half=-32768 whole=18446744073709551615");
  SAME(-EINVAL, patchbay_synth_event_trace(file, 4, VALUES(1, "a", 2, 3, 4)));
  SAME(-EINVAL, patchbay_synth_event_trace(file, 6, VALUES(1, "a", 2, 3, 4)));
  SAME(0, lines_with("trace", "ev:"));
  SAME(0, patchbay_synth_event_trace(file, 5, VALUES(1, NULL, 2, 3, 4)));
  HAS(" ev: pid=1 comm=(fault) byte=2 half=3 whole=4");
  SAME(0, patchbay_synth_event_trace(file, 5, VALUES(1, 0x5000, 2, 3, 4)));
  HAS("comm=(fault) byte");
  SAME(0, patchbay_synth_event_trace(file, 5, VALUES(1, "", 2, 3, 4)));
  HAS("comm= byte");
  // The text ends where the readable memory does.
  char* pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(pages + 4096, 4096, PROT_NONE);
  for (int length = 0; length < 12; length++) {
    char *text = pages + 4096 - length - 1, wanted[64];
    memset(text, 'a' + length, length);
    text[length] = 0;
    snprintf(wanted, sizeof wanted, "comm=%s byte", text);
    SAME(0, patchbay_synth_event_trace(file, 5, VALUES(1, text, 2, 3, 4)));
    HAS(wanted);
    memset(text, 'x', length + 1);  // no NUL before the fault
    SAME(0, patchbay_synth_event_trace(file, 5, VALUES(1, text, 2, 3, 4)));
    HAS("comm=(fault) byte");
  }
  uint64_t array[] = {VALUES(5, "array", 6, 7, 8)};
  SAME(0, patchbay_synth_event_trace_array(file, array, 5));
  HAS(" ev: pid=5 comm=array byte=6 half=7 whole=8");
  SAME(-EINVAL, patchbay_synth_event_trace_array(file, array, 3));
  SAME(-EINVAL, patchbay_synth_event_trace_array(file, NULL, 5));
  // The text shows what the field's type has room for; the record has up to 255 bytes of it.
  char longer[300];
  memset(longer, 'l', sizeof longer);
  longer[299] = 0;
  SAME(0, patchbay_synth_event_trace(file, 5, VALUES(1, longer, 2, 3, 4)));
  HAS("comm=llllllllllllllll byte");
}

static void dynamic(void) {
  struct synth_field_desc fields[] = {{"u32", "a"},       {"char[]", "text"},  {"char[8]", "fixed"},
                                      {"char[]", "more"}, {"long[]", "stack"}, {"int", "b"}};
  SAME(0, patchbay_synth_event_create("dyn", fields, 4, NULL));
  struct trace_event_file* file = file_of(NULL, "dyn");
  enable("dyn", "1");
  char longer[2001];
  memset(longer, 'x', 2000);
  longer[2000] = 0;
  const uint64_t hello = (uint64_t)(uintptr_t) "hello", world = (uint64_t)(uintptr_t) "world";
  SAME(0, patchbay_synth_event_trace(file, 4, (uint64_t)1, hello, world, (uint64_t)0));
  HAS(" dyn: a=1 text=hello fixed=world more=(fault)");
  SAME(0,
       patchbay_synth_event_trace(file, 4, (uint64_t)1, (uint64_t)(uintptr_t)longer, world, hello));
  SAME(1, lines_with("trace", " fixed=world more=hello"));
  clear();
  struct synth_event_trace_state state;
  SAME(-524, patchbay_synth_event_trace_start(file, &state));
  SAME(-EINVAL, patchbay_synth_event_trace_end(&state));
  char* longest = malloc(100001);
  memset(longest, 'y', 100000);
  longest[100000] = 0;  // cut to 4095, and then no sub-buffer has room for it
  SAME(-EINVAL, patchbay_synth_event_trace(file, 4, (uint64_t)1, (uint64_t)(uintptr_t)longest,
                                           world, hello));
  free(longest);
  enable("dyn", "0");
  SAME(0, patchbay_synth_event_trace(file, 4, (uint64_t)1, hello, world, hello));
  SAME(0, patchbay_synth_event_trace_start(file, &state));
  SAME(0, patchbay_synth_event_trace_end(&state));
  patchbay_trace_put_event_file(file);
  SAME(0, patchbay_synth_event_delete("dyn"));
  SAME(0, patchbay_synth_event_create("dyn", fields + 4, 2, NULL));
  file = file_of(NULL, "dyn");
  enable("dyn", "1");
  uint64_t stack[3] = {2, (uint64_t)(uintptr_t)&malloc, (uint64_t)(uintptr_t)&free};
  SAME(0, patchbay_synth_event_trace(file, 2, (uint64_t)(uintptr_t)stack, (uint64_t)9));
  SAME(1, lines_with("trace", "=> ") >= 2);
  enable("dyn", "0");
  clear();
  patchbay_trace_put_event_file(file);
  SAME(0, patchbay_synth_event_delete("dyn"));
}

static void pieces(struct trace_event_file* file) {
  struct synth_event_trace_state state;
  SAME(-EINVAL, patchbay_synth_event_trace_start(file, NULL));
  SAME(-EINVAL, patchbay_synth_event_add_next_val(1, NULL));
  SAME(-EINVAL, patchbay_synth_event_add_val("pid", 1, NULL));
  SAME(-EINVAL, patchbay_synth_event_trace_end(NULL));
  const uint64_t five[] = {VALUES(1, "next", 2, 3, 4)};
  SAME(0, patchbay_synth_event_trace_start(file, &state));
  for (int i = 0; i < 5; i++) SAME(0, patchbay_synth_event_add_next_val(five[i], &state));
  SAME(-EINVAL, patchbay_synth_event_add_next_val(1, &state));
  SAME(-EINVAL, patchbay_synth_event_add_val("pid", 1, &state));
  SAME(0, patchbay_synth_event_trace_end(&state));
  SAME(-EINVAL, patchbay_synth_event_trace_end(&state));
  HAS(" ev: pid=1 comm=next byte=2 half=3 whole=4");
  SAME(0, patchbay_synth_event_trace_start(file, &state));
  SAME(0, patchbay_synth_event_add_val("whole", 4, &state));
  SAME(-EINVAL, patchbay_synth_event_add_val("nothing", 4, &state));
  SAME(-EINVAL, patchbay_synth_event_add_next_val(1, &state));
  char text[300];
  memset(text, 't', sizeof text);
  text[299] = 0;
  SAME(0, patchbay_synth_event_add_val("comm", (uint64_t)(uintptr_t)text, &state));
  strcpy(text, "named");
  SAME(0, patchbay_synth_event_add_val("comm", (uint64_t)(uintptr_t)text, &state));
  strcpy(text, "not this");
  SAME(-EINVAL, patchbay_synth_event_add_val("comm", 0, &state));
  SAME(0, patchbay_synth_event_add_val("pid", 1, &state));
  SAME(0, patchbay_synth_event_trace_end(&state));
  HAS(" ev: pid=1 comm=named byte=0 half=0 whole=4");
  SAME(0, patchbay_synth_event_trace_start(file, &state));
  SAME(0, patchbay_synth_event_trace_end(&state));
  HAS(" ev: pid=0 comm= byte=0 half=0 whole=0");
  enable("ev", "0");
  SAME(0, patchbay_synth_event_trace_start(file, &state));
  SAME(0, patchbay_synth_event_add_val("nothing", 4, &state));
  SAME(-EINVAL, patchbay_synth_event_add_next_val(1, &state));
  SAME(0, patchbay_synth_event_trace_end(&state));
  enable("ev", "1");
}

static int trace_one(struct trace_event_file* file, int pid) {
  return patchbay_synth_event_trace(file, 5, VALUES(pid, "x", 2, 3, 4));
}
static int trace_pieces(struct trace_event_file* file, int pid) {
  struct synth_event_trace_state state;
  if (patchbay_synth_event_trace_start(file, &state)) return -EINVAL;
  patchbay_synth_event_add_val("pid", (uint64_t)pid, &state);
  return patchbay_synth_event_trace_end(&state);
}

static void wanted_or_not(struct trace_event_file* file) {
  struct synth_event_trace_state state;
  enable("ev", "0");
  SAME(0, trace_one(file, 1));
  SAME(0, patchbay_synth_event_trace(file, 2, (uint64_t)1, (uint64_t)2));  // nobody counts
  enable("ev", "1");
  patchbay_write("tracing_on", "0");
  SAME(-EINVAL, trace_one(file, 2));
  SAME(-EINVAL, patchbay_synth_event_trace_start(file, &state));
  patchbay_write("tracing_on", "1");
  patchbay_write("events/synthetic/ev/filter", "pid == 3");
  SAME(0, trace_one(file, 4));
  SAME(0, trace_one(file, 3));
  HAS("pid=3");
  SAME(0, trace_pieces(file, 4));
  SAME(0, trace_pieces(file, 3));
  HAS("pid=3");
  patchbay_write("events/synthetic/ev/filter", "comm == \"x\"");
  SAME(0, trace_one(file, 5));
  HAS("pid=5");
  patchbay_write("events/synthetic/ev/filter", "0");
  patchbay_write("set_event_pid", "1");
  SAME(0, trace_one(file, 6));
  SAME(0, lines_with("trace", " ev:"));
  patchbay_write("events/synthetic/ev/trigger", "traceoff if pid == 8");
  SAME(0, trace_one(file, 8));
  SAME(1, (patchbay_read("tracing_on", g_text, 16), g_text[0] == '1'));
}

// A fresh state of the tree for what follows.
static void triggers(struct trace_event_file* file) {
  patchbay_write("events/synthetic/ev/trigger", "!traceoff if pid == 8");
  char everybody[32];
  snprintf(everybody, sizeof everybody, "%d", (int)getpid());
  patchbay_write("set_event_pid", everybody);
  SAME(0, trace_one(file, 7));
  HAS("pid=7");
  patchbay_write("events/synthetic/ev/trigger", "hist:keys=pid,comm");
  for (int i = 0; i < 3; i++) SAME(0, trace_one(file, 9));
  SAME(0, trace_pieces(file, 10));
  SAME(1, lines_with("events/synthetic/ev/hist", "hitcount:          3"));
  SAME(1, lines_with("events/synthetic/ev/hist", "Entries: 2"));
  enable("ev", "0");  // the histogram goes on, the record does not
  clear();
  SAME(0, trace_one(file, 9));
  SAME(0, lines_with("trace", " ev:"));
  SAME(1, lines_with("events/synthetic/ev/hist", "hitcount:          4"));
  patchbay_write("events/synthetic/ev/trigger", "!hist:keys=pid,comm");
  patchbay_write("events/synthetic/ev/trigger", "enable_event:synthetic:ev");
  SAME(0, trace_one(file, 11));  // switches itself on, from the next on
  SAME(0, trace_one(file, 12));
  HAS("pid=12");
  patchbay_write("events/synthetic/ev/trigger", "!enable_event:synthetic:ev");
  enable("ev", "1");
  patchbay_write("dynamic_events", "e:onev synthetic.ev pid=$pid:s32 comm=$comm:string");
  patchbay_write("events/eprobes/onev/enable", "1");
  SAME(0, trace_one(file, 13));
  SAME(1, lines_with("trace", "onev:"));
  HAS(" ev: pid=13");
  patchbay_write("events/eprobes/onev/enable", "0");
  patchbay_write("dynamic_events", "-:eprobes/onev");
  patchbay_write("trace_options", "stacktrace");
  SAME(0, trace_one(file, 14));
  SAME(1, lines_with("trace", "=> main"));  // who called
  patchbay_write("trace_options", "nostacktrace");
  clear();
}

// --- from odd places

static struct trace_event_file* g_file;
static volatile int g_handled, g_handler_failed;

static void on_signal(int signal) {
  (void)signal;
  const int saved = errno;
  errno = 77;
  const int answer = trace_one(g_file, 20);
  const int other = trace_pieces(g_file, 21);
  // Where the signal has interrupted the agent itself nothing is recorded, and it says so.
  if ((answer && answer != -EINVAL) || (other && other != -EINVAL) || errno != 77)
    g_handler_failed = 1;
  errno = saved;
  g_handled++;
}

static void from_handlers(struct trace_event_file* file) {
  g_file = file;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, NULL);
  pthread_t self = pthread_self();
  raise(SIGUSR1);
  HAS("pid=20");
  const pid_t child = fork();
  if (child == 0) {  // hails us with signals while we are in the agent and in the ring
    for (int i = 0; i < 3000; i++) kill(getppid(), SIGUSR1), usleep(20);
    _exit(0);
  }
  (void)self;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    SAME(0, trace_one(file, 22));
    struct synth_field_desc field = {"int", "a"};
    SAME(0, patchbay_synth_event_create("again", &field, 1, PATCHBAY_THIS_MODULE));
    SAME(0, patchbay_synth_event_delete("again"));
  }
  SAME(0, g_handler_failed);
  SAME(1, g_handled > 10);
  SAME(1, lines_with("trace", "pid=21") > 10);
  clear();
}

static void in_a_child(struct trace_event_file* file) {
  patchbay_write("options/event-fork", "1");  // set_event_pid has our own id
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    struct synth_field_desc field = {"int", "a"};
    int wrong = patchbay_synth_event_create("child", &field, 1, NULL) != -ESRCH;
    wrong += patchbay_synth_event_delete("ev") != -ESRCH;
    wrong += !is_error(file_of(NULL, "ev"), ESRCH);
    patchbay_trace_put_event_file(file);
    wrong += trace_one(file, 30) != 0;
    wrong += trace_pieces(file, 31) != 0;
    _exit(wrong);
  }
  int status = 0;
  waitpid(child, &status, 0);
  SAME(0, WEXITSTATUS(status));
  SAME(1, lines_with("trace", "pid=30"));
  SAME(1, lines_with("trace", "pid=31"));
  clear();
}

static void* record_for_ever(void* argument) {
  struct trace_event_file* file = argument;
  for (int i = 0;; i++) {
    trace_one(file, i);
    trace_pieces(file, i);
  }
  return NULL;
}

static void probes(void) {
  char text[MAX_DYNEVENT_CMD_LEN];
  struct dynevent_cmd cmd;
  patchbay_kprobe_event_cmd_init(&cmd, text, sizeof text);
  SAME(0, patchbay_kprobe_event_gen_cmd_start(&cmd, "on_nothing", "no_such_function_at_all"));
  SAME(-EINVAL, patchbay_kprobe_event_gen_cmd_end(&cmd) ? -EINVAL : 0);
  SAME(-ENOENT, patchbay_kprobe_event_delete("on_nothing"));
  SAME(-EINVAL, patchbay_kprobe_event_delete(NULL));
  SAME(-EINVAL, patchbay_kprobe_event_delete(""));
}

static int without_agent(void) {
  struct synth_field_desc field = {"int", "a"};
  struct synth_event_trace_state state;
  char text[64];
  struct dynevent_cmd cmd;
  SAME(-ESRCH, g_before_agent);
  SAME(-ESRCH, g_in_constructor);
  SAME(-ESRCH, patchbay_synth_event_create("ev", &field, 1, PATCHBAY_THIS_MODULE));
  SAME(-ESRCH, patchbay_synth_event_delete("ev"));
  SAME(-ESRCH, patchbay_kprobe_event_delete("ev"));
  patchbay_kprobe_event_cmd_init(&cmd, text, sizeof text);
  SAME(0, patchbay_kprobe_event_gen_cmd_start(&cmd, "a", "main"));
  SAME(-ESRCH, patchbay_kprobe_event_gen_cmd_end(&cmd));
  struct trace_event_file* file = file_of(NULL, "ev");
  SAME(true, is_error(file, ESRCH));
  SAME(-EINVAL, trace_one(file, 1));
  SAME(-EINVAL, patchbay_synth_event_trace_start(file, &state));
  SAME(-EINVAL, patchbay_synth_event_trace_end(&state));
  patchbay_trace_put_event_file(file);
  printf("contracts: %d checks, %d failures\n", checks, failures);
  return failures != 0;
}

int main(int argc, char** argv) {
  if (argc > 1 && !strcmp(argv[1], "no_agent")) return without_agent();
  patchbay_write("buffer_size_kb", "4096");
  definitions();
  files();
  struct trace_event_file* file = file_of(NULL, "ev");
  enable("ev", "1");
  if (argc > 1) {
    for (int i = 0; i < 4; i++) {
      pthread_t thread;
      pthread_create(&thread, NULL, record_for_ever, file);
    }
    usleep(20000);
    puts("ends");
    return 0;
  }
  values(file);
  pieces(file);
  dynamic();
  probes();
  wanted_or_not(file);
  triggers(file);
  in_a_child(file);
  from_handlers(file);
  enable("ev", "0");
  SAME(-EBUSY, patchbay_synth_event_delete("ev"));
  patchbay_trace_put_event_file(file);
  SAME(0, patchbay_synth_event_delete("ev"));
  printf("contracts: %d checks, %d failures\n", checks, failures);
  return failures != 0;
}
