// SPDX-License-Identifier: MIT
// Leaves 100 hooked frames by longjmp, 100,000 times; then the same depth returns as it should.
// probe: ret_jump ret_plain
#include <setjmp.h>
#include <stdio.h>

#include "return_program.h"

static jmp_buf back;

extern "C" {
KEEP void ret_jump(int depth) {
  if (depth == 0) longjmp(back, 1);
  if (depth > 0) ret_jump(depth - 1);
  after_call(depth);
}
KEEP int ret_plain(int depth) { return depth ? (int)after_call(ret_plain(depth - 1)) + 1 : 0; }
}

static __attribute__((noinline)) int jump_once() {
  if (setjmp(back)) return 1;
  ret_jump(99);
  return 0;
}

int main() {
  gate();
  long jumps = 0, depth = 0;
  for (int i = 0; i < 100000; i++) jumps += jump_once();
  for (int i = 0; i < 10; i++) depth += ret_plain(99);
  printf("calls ret_plain %d\n", 10 * 100);
  printf("jumps %ld depth %ld\n", jumps, depth);
  gate();
}
