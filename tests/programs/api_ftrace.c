/* SPDX-License-Identifier: MIT
 * A program that traces its own functions with callbacks (patchbay/ftrace.h). Prints one line for
 * each thing that is not as it should be, and "ok"; C11 and C++20. */
#include <errno.h>
#include <math.h>
#include <patchbay/ftrace.h>
#include <patchbay/patchbay.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRACED __attribute__((noinline, noclone))

static int failures;
#define EXPECT(what)                                    \
  do {                                                  \
    if (!(what)) {                                      \
      printf("line %d: not so: %s\n", __LINE__, #what); \
      failures++;                                       \
    }                                                   \
  } while (0)

TRACED long one(long a, long b, long c, long d, long e, long f, long g) {
  __asm__ volatile("");
  return a + b + c + d + e + f + g;
}
TRACED long two(long a) {
  __asm__ volatile("");
  return a + 2;
}
TRACED double floating(double a, double b, double c, double d, double e, double f, double g,
                       double h) {
  __asm__ volatile("");
  return a + 10 * b + 100 * c + 1e3 * d + 1e4 * e + 1e5 * f + 1e6 * g + 1e7 * h;
}

static volatile long calls_of_one, calls_of_two, calls_of_both, arguments_seen;
static unsigned long ip_of_one, parent_of_one;
static volatile double junk;

static void see_one(unsigned long ip, unsigned long parent_ip, struct ftrace_ops* ops,
                    struct ftrace_regs* fregs) {
  (void)ops;
  calls_of_one = calls_of_one + 1;
  ip_of_one = ip;
  parent_of_one = parent_ip;
  arguments_seen = 0;
  for (unsigned i = 0; i < 7; i++)
    arguments_seen = arguments_seen * 10 + (long)ftrace_regs_get_argument(fregs, i);
  EXPECT(ftrace_regs_get_instruction_pointer(fregs) == ip);
  EXPECT(*(unsigned long*)ftrace_regs_get_stack_pointer(fregs) == parent_ip);
  two(1); /* a hit inside of a callback */
}
static void see_two(unsigned long ip, unsigned long parent_ip, struct ftrace_ops* ops,
                    struct ftrace_regs* fregs) {
  (void)ip, (void)parent_ip, (void)ops, (void)fregs;
  calls_of_two = calls_of_two + 1;
}
static void see_any(unsigned long ip, unsigned long parent_ip, struct ftrace_ops* ops,
                    struct ftrace_regs* fregs) {
  (void)ip, (void)parent_ip, (void)fregs;
  (void)ops;
  calls_of_both = calls_of_both + 1;
  double x = (double)calls_of_both; /* spoils vector registers */
  for (int i = 0; i < 8; i++) x = x * 1.5 + sqrt(x);
  junk = x;
}

static struct ftrace_ops ops_one, ops_two, ops_any;

static unsigned char* text(const char* s) { return (unsigned char*)s; }
static int filter(struct ftrace_ops* ops, const char* pattern, int reset) {
  return ftrace_set_filter(ops, text(pattern), (int)strlen(pattern), reset);
}

static void mistakes(void) {
  struct ftrace_ops empty;
  memset(&empty, 0, sizeof empty);
  EXPECT(register_ftrace_function(NULL) == -EINVAL);
  EXPECT(register_ftrace_function(&empty) == -EINVAL);
  EXPECT(unregister_ftrace_function(NULL) == -EINVAL);
  EXPECT(unregister_ftrace_function(&empty) == -EBUSY);
  EXPECT(ftrace_set_filter(NULL, text("one"), 3, 0) == -EINVAL);
  EXPECT(filter(&empty, "there_is_no_such_function", 0) == -EINVAL);
  EXPECT(filter(&empty, "one:traceoff", 0) == -EINVAL);
  EXPECT(ftrace_set_filter_ip(&empty, 17, 0, 0) == -ENOENT);
  EXPECT(ftrace_set_filter_ips(&empty, NULL, 2, 0, 0) == -EINVAL);
  ftrace_free_filter(&empty);
  ftrace_free_filter(NULL);
  EXPECT(empty.patchbay_id == 0);
}

static void one_function_each(void) {
  ops_one.func = see_one;
  ops_two.func = see_two;
  EXPECT(filter(&ops_one, "one", 0) == 0);
  EXPECT(ftrace_set_filter_ip(&ops_two, (unsigned long)&two, 0, 0) == 0);
  one(1, 2, 3, 4, 5, 6, 7);
  EXPECT(calls_of_one == 0);
  EXPECT(register_ftrace_function(&ops_one) == 0);
  EXPECT(register_ftrace_function(&ops_one) == -EBUSY);
  EXPECT(ops_one.flags & FTRACE_OPS_FL_ENABLED);
  EXPECT(one(1, 2, 3, 4, 5, 6, 7) == 28);
  EXPECT(calls_of_one == 1 && ip_of_one == (unsigned long)&one);
  EXPECT(parent_of_one > (unsigned long)&one_function_each);
  EXPECT(arguments_seen == 1234567);
  EXPECT(register_ftrace_function(&ops_two) == 0);
  two(1);
  EXPECT(calls_of_two == 1);
  one(1, 1, 1, 1, 1, 1, 1);
  EXPECT(calls_of_one == 2 && calls_of_two == 1); /* two() inside of see_one() */
  EXPECT(patchbay_ftrace_missed(&ops_two) == 1);
  EXPECT(unregister_ftrace_function(&ops_one) == 0);
  EXPECT(!(ops_one.flags & FTRACE_OPS_FL_ENABLED));
  EXPECT(unregister_ftrace_function(&ops_one) == -EBUSY);
  one(1, 1, 1, 1, 1, 1, 1);
  two(1);
  EXPECT(calls_of_one == 2 && calls_of_two == 2);
}

static void several(void) {
  ops_any.func = see_any;
  EXPECT(filter(&ops_any, "two", 0) == 0);
  EXPECT(filter(&ops_any, "floating", 0) == 0);
  EXPECT(register_ftrace_function(&ops_any) == 0);
  two(1);
  EXPECT(calls_of_both == 1 && calls_of_two == 3);
  EXPECT(floating(1, 2, 3, 4, 5, 6, 7, 8) == 87654321);
  EXPECT(calls_of_both == 2);
  EXPECT(ftrace_set_notrace(&ops_any, text("two\n"), 4, 0) == 0);
  two(1);
  EXPECT(calls_of_both == 2);
  EXPECT(ftrace_set_notrace(&ops_any, NULL, 0, 1) == 0);
  two(1);
  EXPECT(calls_of_both == 3);
  EXPECT(filter(&ops_any, "!two", 0) == 0);
  two(1);
  EXPECT(calls_of_both == 3);
  EXPECT(filter(&ops_any, "two", 1) == 0);
  EXPECT(floating(1, 2, 3, 4, 5, 6, 7, 8) == 87654321);
  EXPECT(calls_of_both == 3);
  char shown[4096];
  EXPECT(patchbay_read("enabled_functions", shown, sizeof shown) > 0);
  EXPECT(strstr(shown, "two (2)") && strstr(shown, "see_any"));
  /* From outside it is chosen by its name, and its filter is seen and changed. */
  memset(shown, 0, sizeof shown);
  EXPECT(patchbay_read("function_tracers", shown, sizeof shown) > 0);
  EXPECT(!strcmp(shown, "see_two\nsee_any\n"));
  EXPECT(patchbay_write("function_tracers", "see_any") >= 0);
  memset(shown, 0, sizeof shown);
  EXPECT(patchbay_read("function_tracers", shown, sizeof shown) > 0);
  EXPECT(!strcmp(shown, "see_two\n*see_any\n"));
  EXPECT(patchbay_write("set_ftrace_filter", "floating") >= 0);
  memset(shown, 0, sizeof shown);
  EXPECT(patchbay_read("set_ftrace_filter", shown, sizeof shown) > 0);
  EXPECT(!strcmp(shown, "two\nfloating\n") || !strcmp(shown, "floating\ntwo\n"));
  EXPECT(floating(1, 2, 3, 4, 5, 6, 7, 8) == 87654321);
  EXPECT(calls_of_both == 4);
  calls_of_both = 3;
  EXPECT(filter(&ops_any, "two", 1) == 0);
}

static void* call_two(void* stop) {
  long count = 0;
  while (!__atomic_load_n((int*)stop, __ATOMIC_RELAXED)) count += two(1) == 3;
  return (void*)count;
}

/* Registered and unregistered while threads call. */
/* A callback that leaves vector registers alone: none are kept around it. */
static volatile long calls_of_lean;
__attribute__((target("general-regs-only"))) static void see_lean(unsigned long ip,
                                                                  unsigned long parent_ip,
                                                                  struct ftrace_ops* ops,
                                                                  struct ftrace_regs* fregs) {
  (void)ip, (void)parent_ip, (void)ops;
  calls_of_lean = calls_of_lean + (long)ftrace_regs_get_argument(fregs, 0);
}
static void general_registers(void) {
  static struct ftrace_ops ops;
  ops.func = see_lean;
  ops.flags = PATCHBAY_OPS_FL_GENERAL_REGS;
  EXPECT(filter(&ops, "two", 1) == 0);
  EXPECT(filter(&ops, "floating", 0) == 0);
  EXPECT(register_ftrace_function(&ops) == 0);
  EXPECT(ops.flags == (PATCHBAY_OPS_FL_GENERAL_REGS | FTRACE_OPS_FL_ENABLED));
  calls_of_lean = 0;
  for (long i = 1; i <= 1000; i++) two(i);
  EXPECT(calls_of_lean == 500500);
  EXPECT(floating(1, 2, 3, 4, 5, 6, 7, 8) == 87654321);
  EXPECT(unregister_ftrace_function(&ops) == 0);
  EXPECT(ops.flags == PATCHBAY_OPS_FL_GENERAL_REGS);
  ftrace_free_filter(&ops);
}

static void under_load(void) {
  int stop = 0;
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, call_two, &stop);
  for (int i = 0; i < 200; i++) {
    EXPECT(unregister_ftrace_function(&ops_any) == 0);
    const long at_end = calls_of_both;
    for (int j = 0; j < 50; j++) two(1);
    EXPECT(calls_of_both == at_end);
    EXPECT(register_ftrace_function(&ops_any) == 0);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

static void in_a_child(void) {
  fflush(stdout);
  const long before = calls_of_two;
  const pid_t child = fork();
  if (child == 0) {
    two(1);
    const int result = (calls_of_two != before) | (register_ftrace_function(&ops_one) != -ESRCH)
                                                      << 1;
    _exit(result);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT(status == 0);
}

/* Behind the exit handlers of all that main() has used first. */
__attribute__((destructor)) static void at_the_end(void) {
  if (!*patchbay_directory()) return;
  const long before = calls_of_two;
  if (ftrace_set_filter(&ops_two, text("two"), 3, 1)) printf("no filter at the end\n");
  if (register_ftrace_function(&ops_two)) printf("no callback at the end\n");
  two(1);
  if (calls_of_two != before + 1) printf("not called at the end\n");
  if (unregister_ftrace_function(&ops_two)) printf("no end at the end\n");
}

int main(void) {
  if (!*patchbay_directory()) {
    EXPECT(register_ftrace_function(&ops_one) == -ESRCH);
    EXPECT(ftrace_set_filter(&ops_one, text("one"), 3, 0) == -ESRCH);
    printf(failures ? "failed\n" : "no agent\n");
    return failures != 0;
  }
  mistakes();
  one_function_each();
  several();
  under_load();
  in_a_child();
  general_registers();
  EXPECT(ftrace_set_global_filter(text("one"), 3, 1) == 0);
  EXPECT(ftrace_set_global_notrace(text("two"), 3, 1) == 0);
  EXPECT(ftrace_set_global_filter(text("no_such_function"), 16, 1) == -EINVAL);
  EXPECT(unregister_ftrace_function(&ops_any) == 0);
  EXPECT(unregister_ftrace_function(&ops_two) == 0);
  ftrace_free_filter(&ops_any);
  ftrace_free_filter(&ops_two);
  puts(failures ? "failed" : "ok");
  return failures != 0;
}
