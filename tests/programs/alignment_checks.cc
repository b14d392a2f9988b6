// SPDX-License-Identifier: MIT
//
// Functions called with alignment checks on (the flag AC), for tests/scripts/faults.sh. It prints
// the sum of what they return.
// event: int r = checked(string text, int b)
#include <cstdio>

extern "C" __attribute__((noinline, used)) int checked(const char* text, int b) {
  asm volatile("" : "+r"(text));
  return b + 1;
}

static void checks_on() {
  asm volatile("sub $128, %%rsp; pushfq; orq $0x40000, (%%rsp); popfq; add $128, %%rsp" ::
                   : "memory", "cc");
}
static void checks_off() {
  asm volatile("sub $128, %%rsp; pushfq; andq $~0x40000, (%%rsp); popfq; add $128, %%rsp" ::
                   : "memory", "cc");
}

int main() {
  const char text[] = "a text that begins anywhere";
  long sum = 0;
  for (int i = 0; i < 200; i++) {
    checks_on();
    sum += checked(text + i % 9, i);
    checks_off();
  }
  std::printf("%ld\n", sum);
}
