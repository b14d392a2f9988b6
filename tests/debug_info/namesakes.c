// SPDX-License-Identifier: MIT
// See namesake.c.
#define LOCAL static __attribute__((noinline, noclone))
LOCAL int helper(const char* name, long n) {
  __asm__ volatile("" ::"r"(name));
  return (int)n + name[0];
}
LOCAL int same(int n) {
  __asm__ volatile("" ::"r"(n));
  return n + 1;
}
LOCAL int thrown_away(const char* dead) {
  __asm__ volatile("" ::"r"(dead));
  return dead[0];
}
__attribute__((visibility("hidden"))) int nobody_calls(void) { return thrown_away("dead"); }
int use_second(int n) { return helper("abc", n) + same(n); }
