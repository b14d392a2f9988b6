// SPDX-License-Identifier: MIT
// Calls sys_read three times and sys_write once a millisecond, for as long as it lives.
#include <unistd.h>

volatile long sum;

__attribute__((noinline)) long sys_read(long a) {
  __asm__ volatile("" : "+r"(a));
  return sum += a + 1;
}
__attribute__((noinline)) long sys_write(long a) {
  __asm__ volatile("" : "+r"(a));
  return sum -= a;
}

int main(void) {
  for (long n = 0;; n++) {
    for (int i = 0; i < 3; i++) sys_read(n);
    sys_write(n);
    usleep(1000);
  }
}
