// SPDX-License-Identifier: MIT
// Loaded again and again by dlopen_reload.c. Its constructor calls what may be recorded.
int reload_work(int n);
int reload_calls(int calls);

__attribute__((noinline)) int reload_work(int n) {
  __asm__ volatile("" : "+r"(n)::"memory");
  return n * 7 + 3;
}

int reload_calls(int calls) {
  int sum = 0;
  for (int i = 0; i < calls; i++) sum += reload_work(i);
  return sum;
}

__attribute__((constructor)) static void early(void) { reload_calls(2); }
__attribute__((destructor)) static void late(void) { reload_calls(1); }
