// SPDX-License-Identifier: MIT
// backtrace() from inside hooked functions: the program's own frames, as offsets, whatever the
// length that is asked for.
// probe: ret_outer ret_middle ret_tail ret_inner
#include <execinfo.h>
#include <stdio.h>

#include <initializer_list>

#include "return_program.h"

extern "C" {
extern const char __executable_start[], etext[];
KEEP int ret_inner(int limit) {
  void* frames[64];
  const int count = backtrace(frames, limit);
  printf("%d:", count);
  for (int i = 0; i < count; i++) {
    const char* at = static_cast<const char*>(frames[i]);
    if (at >= __executable_start && at < etext) printf(" %lx", (long)(at - __executable_start));
  }
  printf("\n");
  return count;
}
KEEP int ret_tail(int limit) { return ret_inner(limit); }
KEEP int ret_middle(int depth, int limit) {
  const int count = depth ? ret_middle(depth - 1, limit) : ret_tail(limit);
  __asm__ volatile("");
  return count;
}
KEEP int ret_outer(int limit) {
  const int count = ret_middle(3, limit);
  __asm__ volatile("");
  return count;
}
}

int main() {
  gate();
  int sum = 0;
  for (int limit : {64, 12, 9, 5, 3, 2, 1, 0}) sum += ret_outer(limit);
  printf("calls ret_outer 8\ncalls ret_inner 8\ncalls ret_tail 8\ncalls ret_middle 32\n");
  printf("sum %d\n", sum);
  gate();
}
