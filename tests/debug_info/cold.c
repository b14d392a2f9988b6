// SPDX-License-Identifier: MIT
// For source_lines_test: gcc moves what leads to a cold function away, and a line is in both parts.
__attribute__((cold, noinline, noreturn)) static void die(int code) {
  for (;;) __asm__ volatile("" ::"r"(code));
}
#line 100 "cold.c"
__attribute__((noipa)) int split(int a, const char* text, long c) {
  int sum = a;
  for (int i = 0; text[i]; i++) {
    if (text[i] == '!') { sum += 1000; if (c < 0) die(sum); }
    sum += text[i];
  }
  return sum * (int)c;
}
