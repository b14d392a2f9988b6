// SPDX-License-Identifier: MIT
// Of the same shape as reload_so.c: the dynamic linker puts it where that one was. Nobody wants
// anything of it, so its text must stay as it is in the file.
int reload_idle(int n);
int reload_idles(int calls);

__attribute__((noinline)) int reload_idle(int n) {
  __asm__ volatile("" : "+r"(n)::"memory");
  return n * 5 + 1;
}

int reload_idles(int calls) {
  int sum = 0;
  for (int i = 0; i < calls; i++) sum += reload_idle(i);
  return sum;
}

__attribute__((constructor)) static void early(void) { reload_idles(2); }
__attribute__((destructor)) static void late(void) { reload_idles(1); }
