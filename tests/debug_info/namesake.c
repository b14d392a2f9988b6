// SPDX-License-Identifier: MIT
// For entry_parameters_test, with namesakes.c: a local function of the same name in each, and one
// that nobody calls, which the linker throws away.
#define LOCAL static __attribute__((noinline, noclone))
LOCAL int helper(int code) {
  __asm__ volatile("" ::"r"(code));
  return code * 2;
}
LOCAL int same(int n) {
  __asm__ volatile("" ::"r"(n));
  return n;
}
int use_first(int n) { return helper(n) + same(n); }
