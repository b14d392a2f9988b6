// SPDX-License-Identifier: MIT
// For entry_parameters_test: local functions from which an optimizer takes parameters away, because
// it knows all their callers, and others whose parameters stay where they are.
#define READ(value) __asm__ volatile("" ::"r"(value))
struct pair {
  int a;
  long b;
};
struct big {
  long a, b, c;
};
volatile int sink;

static __attribute__((noinline)) int scale(const char* unit, int factor, int value) {
  READ(value);
  return value * factor + unit[0];
}
static __attribute__((noinline)) int unread(int a, int dead, int b) {
  READ(a);
  READ(b);
  return a - b;
}
static __attribute__((noinline)) double reals(double dead, double factor, int dead_too, double x) {
  return x * factor;
}
static __attribute__((noinline)) long behind(int dead, struct big big, long last) {
  READ(last);
  READ(big.c);
  return big.c - last;
}
__attribute__((noinline)) int stays(int a, struct pair pair, const char* text) {
  READ(a);
  READ(pair.b);
  READ(text);
  return a + (int)pair.b + text[0];
}
__attribute__((noinline)) int kandr(a, b, c)
int a;
char b;
float c;
{
  READ(a);
  sink = b;
  return a + (int)c;
}
__attribute__((noinline)) void kandr_real(dead, value)
float dead;
float value;
{
  sink = (int)value;
}
int use(int n, const char* text) {
  struct pair pair = {n, 2};
  struct big big = {1, n, n};
  kandr_real((float)n, (float)n + 1);
  return scale("m", 7, n + 4) + unread(n, 99, n + 40) + (int)reals(n, 2.5, n, n) +
         (int)behind(n, big, n) + stays(n, pair, text) + kandr(n, 'c', 1.5f);
}
