/* SPDX-License-Identifier: MIT
 *
 * A program that watches its own functions with a callback: how often each is called, and with
 * which argument at most. The functions themselves know nothing of it.
 *
 *   ./api_callback
 *     parse_line: 3 calls, at most 70
 *     parse_word: 12 calls, at most 5
 */
#include <patchbay/ftrace.h>
#include <stdio.h>
#include <string.h>

__attribute__((noinline)) int parse_word(int letters) {
  __asm__ volatile("" : "+r"(letters));
  return letters * 2;
}
__attribute__((noinline)) int parse_line(int columns) {
  int sum = 0;
  for (int word = 0; word < 4; word++) sum += parse_word(word + columns % 3);
  return sum;
}

static struct seen {
  const char* name;
  unsigned long ip;
  int calls, most;
} seen[] = {{"parse_line", (unsigned long)parse_line, 0, 0},
            {"parse_word", (unsigned long)parse_word, 0, 0}};

static void count(unsigned long ip, unsigned long parent_ip, struct ftrace_ops* ops,
                  struct ftrace_regs* fregs) {
  (void)parent_ip, (void)ops;
  const int argument = (int)ftrace_regs_get_argument(fregs, 0);
  for (int i = 0; i < 2; i++) {
    if (seen[i].ip != ip) continue;
    seen[i].calls++;
    if (argument > seen[i].most) seen[i].most = argument;
  }
}

int main(void) {
  static struct ftrace_ops ops = {.func = count};
  unsigned char pattern[] = "parse_*";
  int error = ftrace_set_filter(&ops, pattern, sizeof pattern - 1, 0);
  if (!error) error = register_ftrace_function(&ops);
  if (error) return fprintf(stderr, "no callback: %s\n", strerror(-error)), 1;
  int sum = parse_line(30) + parse_line(70) + parse_line(11);
  unregister_ftrace_function(&ops);
  sum += parse_line(1000); /* not seen */
  for (int i = 0; i < 2; i++)
    printf("%s: %d calls, at most %d\n", seen[i].name, seen[i].calls, seen[i].most);
  ftrace_free_filter(&ops);
  return sum < 0;
}
