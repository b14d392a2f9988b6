// SPDX-License-Identifier: MIT
// A language's own personality routine (LuaJIT's) finds its frame by _Unwind_GetCFA(): also where
// the function that the frame has called is hooked, and by way of a tail call.
// probe: ret_throws ret_tail
#include <stdio.h>
#include <unwind.h>

#include "return_program.h"

extern "C" {
unsigned long watched_stack;
static int wrong, seen;
_Unwind_Reason_Code watch(int, _Unwind_Action, _Unwind_Exception_Class, _Unwind_Exception*,
                          _Unwind_Context* context) {
  seen++;
  wrong += _Unwind_GetCFA(context) != watched_stack;
  return _URC_CONTINUE_UNWIND;
}
long watched(long (*function)(long), long n);
__asm__(
    ".text\n.globl watched\n.type watched, @function\nwatched:\n.cfi_startproc\n"
    ".cfi_personality 0x1b, watch\npush %rbx\n.cfi_adjust_cfa_offset 8\n"
    "mov %rsp, watched_stack(%rip)\nmov %rdi, %rax\nmov %rsi, %rdi\ncall *%rax\n"
    "pop %rbx\n.cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n.size watched, . - watched\n");

static long returned, tails;
KEEP long ret_throws(long n) {
  if (n % 3 == 0) throw n;
  returned++;
  return n + 1;
}
__attribute__((noinline)) long ret_tail(long n) {
  tails += n % 3 != 0;
  return ret_throws(n);
}
}

static long sum;
static __attribute__((noinline)) void run(long (*function)(long), long n) {
  try {
    sum += watched(function, n);
  } catch (long thrown) {
    sum -= thrown;
  }
}

int main() {
  gate();
  for (long i = 0; i < 300; i++) {
    run(ret_throws, i);
    run(ret_tail, i);
  }
  printf("seen %d wrong %d\n", seen, wrong);
  printf("calls ret_throws %ld\n", returned);
  printf("calls ret_tail %ld\n", tails);
  printf("sum %ld\n", sum);
  gate();
}
