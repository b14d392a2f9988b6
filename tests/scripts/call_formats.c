// SPDX-License-Identifier: MIT
// Calls of a printf-like function, each beside what `patchbay calls` has to show of it. Prints the
// lines that are expected. Also the threads of call_formats.sh: call_formats THREADS CALLS.
#define _GNU_SOURCE
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <wchar.h>

// Formats it, or, below 0, reads nothing.
__attribute__((noinline)) int log_msg(int level, const char *format, ...) {
  char text[8192];
  va_list list;
  if (level < 0) return 0;
  va_start(list, format);
  const int n = vsnprintf(text, sizeof text, format, list);
  va_end(list);
  return n;
}
// Three registers more, and two vector registers, are taken by names.
__attribute__((noinline)) int log_more(double x, long a, float y, long b, long c, const char *fmt,
                                       ...) {
  char text[256];
  va_list list;
  va_start(list, fmt);
  const int n = vsnprintf(text, sizeof text, fmt, list);
  va_end(list);
  return n + (int)(a + b + c) + (int)(x + (double)y);
}
// All registers are taken: the format is on the stack, and all behind it.
__attribute__((noinline)) int log_deep(long a, long b, long c, long d, long e, long f,
                                       const char *format, ...) {
  char text[256];
  va_list list;
  va_start(list, format);
  const int n = vsnprintf(text, sizeof text, format, list);
  va_end(list);
  return n + (int)(a + b + c + d + e + f);
}

static int line;
static void expect(int level, const char *format, const char *want, int n) {
  printf("log_msg(%d, \"%s\"%s%s) = %d\n", level, format, *want ? ", " : "", want, n);
}
#define CALL(want, format, ...) \
  (line++, expect(line, format, want, log_msg(line, format, ##__VA_ARGS__)))
#define UNREAD(want, format, ...) expect(-1, format, want, log_msg(-1, format, ##__VA_ARGS__))

static void integers(void) {
  CALL("", "nothing");
  CALL("", "100 %% and %m");
  CALL("5", "%d", 5);
  CALL("-5, 7", "%i %d", -5, 7);
  CALL("-2147483648, 2147483647", "%d %d", INT_MIN, INT_MAX);
  CALL("4294967295", "%u", UINT_MAX);
  CALL("0x1f, 0xff", "%x %X", 0x1f, 0xff);
  CALL("0x0, 0x10", "%#x %#X", 0, 16);
  CALL("017, 0", "%o %#o", 15, 0);
  CALL("-1, 255, 0xff", "%hhd %hhu %hhx", -1, 255, 255);
  CALL("-32768, 65535", "%hd %hu", -32768, 65535);
  CALL("-1, 18446744073709551615", "%ld %lu", -1L, ULONG_MAX);
  CALL("-9223372036854775808", "%lld", LLONG_MIN);
  CALL("0xffffffffffffffff, 01777777777777777777777", "%llx %llo", ~0ULL, ~0ULL);
  CALL("-3, 4", "%qd %Lu", -3LL, 4ULL);
  CALL("-5, 6", "%jd %ju", (intmax_t)-5, (uintmax_t)6);
  CALL("-7, 8, 9", "%zd %zu %Zu", (ssize_t)-7, (size_t)8, (size_t)9);
  CALL("-10", "%td", (ptrdiff_t)-10);
  CALL("1, 2, 3, 4, 5", "%+d|% d|%-8d|%08d|%'d", 1, 2, 3, 4, 5);
  CALL("8, 42", "%*d", 8, 42);
  CALL("-8, 42", "%*d", -8, 42);
  CALL("8, 4, 42", "%*.*d", 8, 4, 42);
  CALL("1, 2, 3, 4", "%d%d%d%d", 1, 2, 3, 4);
  CALL("1, 2, 3, 4, 5", "%d%d%d%d%d", 1, 2, 3, 4, 5);
  CALL("1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12", "%d%d%d%d%d%d%d%d%d%d%d%d", 1, 2, 3, 4, 5, 6, 7, 8,
       9, 10, 11, 12);
  CALL("1, -2, 3, -4, 5, -6, 7, -8", "%ld%ld%ld%ld%ld%ld%ld%ld", 1L, -2L, 3L, -4L, 5L, -6L, 7L,
       -8L);
}

static void characters_and_texts(void) {
  CALL("'x'", "%c", 'x');
  CALL("'\\'', '\"', '\\\\'", "%c%c%c", '\'', '"', '\\');
  CALL("'\\n', '\\t', '\\x1b', '\\x00'", "%c%c%c%c", '\n', '\t', 27, 0);
  CALL("L'w'", "%lc", (wint_t)'w');
  CALL("\"abc\"", "%s", "abc");
  CALL("\"\"", "%s", "");
  CALL("\"abc\", \"def\"", "%10s|%-10s", "abc", "def");
  CALL("\"a\\\"b\\\\c\\n\"", "%s", "a\"b\\c\n");
  CALL("\"caf\303\251\"", "%s", "caf\303\251");
  CALL("\"\\xff\\xfe\"", "%s", "\xff\xfe");
  CALL("\"abc\"", "%.3s", "abcdef");
  CALL("3, \"abc\"", "%.*s", 3, "abcdef");
  CALL("-1, \"abcdef\"", "%.*s", -1, "abcdef");
  CALL("10, 2, \"ab\"", "%*.*s", 10, 2, "abcdef");
  CALL("\"\"", "%.0s", "abc");
  CALL("NULL", "%s", (char *)NULL);
  CALL("NULL, 5", "%p %d", NULL, 5);
  CALL("\"a\", 1, \"b\", 2, \"c\", 3, \"d\"", "%s%d%s%d%s%d%s", "a", 1, "b", 2, "c", 3, "d");
}

static void floating_point(void) {
  CALL("3.25", "%f", 3.25);
  CALL("3.25, -0.5, 1e+100", "%5.2f %e %g", 3.25, -0.5, 1e100);
  CALL("0.1, 0.2", "%a %A", 0.1, 0.2);
  CALL("1, 2, 3", "%F %E %G", 1.0, 2.0, 3.0);
  CALL("1.5", "%lf", 1.5);
  CALL("inf, -inf", "%f %f", HUGE_VAL, -HUGE_VAL);
  CALL("5e-324, 1.7976931348623157e+308", "%g %g", 5e-324, 1.7976931348623157e308);
  CALL("0, -0", "%g %g", 0.0, -0.0);
  CALL("1, 2, 3, 4, 5, 6, 7, 8, 9.5, 10.5", "%g%g%g%g%g%g%g%g%g%g", 1., 2., 3., 4., 5., 6., 7., 8.,
       9.5, 10.5);
  CALL("1.5", "%Lf", 1.5L);
  CALL("-2.5, 12.5, 4096", "%Le %Lg %LA", -2.5L, 12.5L, 4096.0L);
}
static void mixed(void) {
  CALL("\"abc\", 5, 3.25", "%s has %d of %5.2f", "abc", 5, 3.25);
  CALL("1, 0.5, 2, 1.5", "%d %g %d %g", 1, 0.5, 2, 1.5);
  CALL("1, 1.5, 2", "%d %Lf %d", 1, 1.5L, 2);
  CALL("1, 2, 3, 4, 5, 1.5, 6, 2.5, 7", "%d%d%d%d%d%Lf%d%Lf%d", 1, 2, 3, 4, 5, 1.5L, 6, 2.5L, 7);
  CALL("1, 2, 3, 4, 1.5, 5, 2.5", "%d%d%d%d%Lg%d%Lg", 1, 2, 3, 4, 1.5L, 5, 2.5L);
  CALL("1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9",
       "%d%g%d%g%d%g%d%g%d%g%d%g%d%g%d%g%d%g", 1, 1., 2, 2., 3, 3., 4, 4., 5, 5., 6, 6., 7, 7., 8,
       8., 9, 9.);
  CALL("8, 2, 3.25, \"x\", 'y', -1", "%*.*f %s %c %ld", 8, 2, 3.25, "x", 'y', -1L);
  CALL("1, \"s\", 'c', 0x2, 3.5, 4", "%hhd%s%c%lx%g%zu", 1, "s", 'c', 2L, 3.5, (size_t)4);
}

static void pointers(void) {
  static int counted;
  char want[200], *at = (char *)0x1234;
  snprintf(want, sizeof want, "%p", (void *)&want);
  CALL(want, "%p", (void *)&want);
  snprintf(want, sizeof want, "%p, 5", (void *)&counted);
  UNREAD(want, "%n%d", &counted, 5);
  UNREAD("0x1234 (unreadable), 5", "%s %d", at, 5);
  UNREAD("\"\", 5", "%.0s %d", at, 5);
  UNREAD("0x8000000000000000 (unreadable)", "%s", (char *)(1UL << 63));
  UNREAD("0x1234 (wide), NULL", "%ls %ls", (wchar_t *)at, (wchar_t *)NULL);
  char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED || mprotect(page + 4096, 4096, PROT_NONE) != 0) exit(2);
  memcpy(page + 4093, "end", 3);
  CALL("\"end\", 1", "%.3s %d", page + 4093, 1);
  UNREAD("\"end\" (unreadable), 1", "%s %d", page + 4093, 1);
}

static void no_formats(void) {
  UNREAD("? (positional)", "%2$d %1$d", 1, 2);
  UNREAD("1, ? (positional)", "%d %*3$d", 1, 2, 3);
  UNREAD("1, ? (%R)", "%d %R %d", 1, 2, 3);
  UNREAD("1, ? (%)", "%d %", 1, 2);
}

static void long_ones(void) {
  static char text[3000], want[4000];
  memset(text, 'a', 511);
  snprintf(want, sizeof want, "\"%s\", 1", text);
  CALL(want, "%s %d", text, 1);
  memset(text, 'a', 600);
  snprintf(want, sizeof want, "\"%.511s\"..., 1", text);
  CALL(want, "%s %d", text, 1);
  snprintf(want, sizeof want, "\"%.400s\", \"%.400s\", 1, 2", text, text);
  CALL(want, "%.400s%.400s%d%d", text, text, 1, 2);
  // The second text fills the room, and the numbers find none.
  snprintf(want, sizeof want, "\"%.511s\"..., \"%.393s\"..., ...", text, text);
  CALL(want, "%s%s%d%d", text, text, 1, 2);
  CALL("1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, "
       "26, 27, 28, 29, 30, 31, 32, ...",
       "%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d", 1, 2, 3, 4, 5, 6, 7, 8,
       9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
       32, 33);
}

static void other_places(void) {
  int n = log_more(1.5, 1, 2.5f, 2, 3, "%d %d %g %g %s", 4, 5, 6.5, 7.5, "x");
  printf("log_more(1.5, 1, 2.5, 2, 3, \"%%d %%d %%g %%g %%s\", 4, 5, 6.5, 7.5, \"x\") = %d\n", n);
  n = log_more(1, 1, 2, 2, 3, "%g%g%g%g%g%g%g%g", 1., 2., 3., 4., 5., 6., 7., 8.);
  printf("log_more(1, 1, 2, 2, 3, \"%%g%%g%%g%%g%%g%%g%%g%%g\", 1, 2, 3, 4, 5, 6, 7, 8) = %d\n", n);
  n = log_deep(1, 2, 3, 4, 5, 6, "%d %s %g %Lg %d", 7, "y", 8.5, 9.5L, 10);
  printf("log_deep(1, 2, 3, 4, 5, 6, \"%%d %%s %%g %%Lg %%d\", 7, \"y\", 8.5, 9.5, 10) = %d\n", n);
}

static long nr_calls;
static void *thread(void *which) {
  const int number = (int)(intptr_t)which;
  char name[16];
  snprintf(name, sizeof name, "t%d", number);
  for (long i = 0; i < nr_calls; i++)
    (void)log_msg(number, "%s %ld %g", name, i, (double)i + 0.5);
  return NULL;
}

int main(int argc, char **argv) {
  if (argc == 3) {
    pthread_t threads[64];
    const int count = atoi(argv[1]);
    nr_calls = atol(argv[2]);
    for (int i = 0; i < count && i < 64; i++)
      if (pthread_create(&threads[i], NULL, thread, (void *)(intptr_t)i) != 0) return 2;
    for (int i = 0; i < count && i < 64; i++) pthread_join(threads[i], NULL);
    return 0;
  }
  integers();
  characters_and_texts();
  floating_point();
  mixed();
  pointers();
  no_formats();
  long_ones();
  other_places();
  return 0;
}
