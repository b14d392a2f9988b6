// SPDX-License-Identifier: MIT
// Functions that begin with what is hard to move: RIP-relative operands, short and near jumps,
// calls, loop, jrcxz, a jump back into the first bytes, endbr64.
// event: rip_load(int a)
// event: rip_store(int a)
// event: jump_first(int a)
// event: jcc_first(int a)
// event: call_first(int a)
// event: loop_first(int a)
// event: jrcxz_first(int a)
// event: back_to_start(int a)
// event: with_endbr(int a)
// event: push_pop(int a)
#include <stdio.h>

__asm__(
    ".data\nnumber: .long 40\nplace: .long 0\n.text\n"
    ".macro func name\n.p2align 4\n.globl \\name\n.type \\name,@function\n\\name:\n.endm\n"
    "func rip_load\n movl number(%rip),%eax\n addl %edi,%eax\n ret\n.size rip_load,.-rip_load\n"
    "func rip_store\n movl $3,place(%rip)\n movl place(%rip),%eax\n addl %edi,%eax\n ret\n"
    ".size rip_store,.-rip_store\n"
    "func jump_first\n jmp 1f\n nop\n nop\n nop\n1: leal 7(%rdi),%eax\n ret\n"
    ".size jump_first,.-jump_first\n"
    "func jcc_first\n testl %edi,%edi\n js 1f\n movl $1,%eax\n ret\n1: movl $-1,%eax\n ret\n"
    ".size jcc_first,.-jcc_first\n"
    "func call_first\n call 1f\n addl $2,%eax\n ret\n1: movl %edi,%eax\n ret\n"
    ".size call_first,.-call_first\n"
    "func loop_first\n movl $3,%ecx\n1: addl $1,%edi\n loop 1b\n movl %edi,%eax\n ret\n"
    ".size loop_first,.-loop_first\n"
    "func jrcxz_first\n movl %edi,%ecx\n jrcxz 1f\n movl $10,%eax\n ret\n1: movl $20,%eax\n ret\n"
    ".size jrcxz_first,.-jrcxz_first\n"
    "func back_to_start\n xorl %eax,%eax\n1: incl %eax\n decl %edi\n jns 1b\n ret\n"
    ".size back_to_start,.-back_to_start\n"
    "func with_endbr\n endbr64\n leal 9(%rdi),%eax\n ret\n nop\n nop\n"
    ".size with_endbr,.-with_endbr\n"
    "func push_pop\n pushq %rbx\n movl %edi,%ebx\n leal 1(%rbx),%eax\n popq %rbx\n ret\n"
    ".size push_pop,.-push_pop\n");
int rip_load(int a);
int rip_store(int a);
int jump_first(int a);
int jcc_first(int a);
int call_first(int a);
int loop_first(int a);
int jrcxz_first(int a);
int back_to_start(int a);
int with_endbr(int a);
int push_pop(int a);

int main(void) {
  long sum = 0;
  for (int i = 0; i < 1000; ++i) {
    sum += rip_load(i) + rip_store(i) * 2 + jump_first(i) * 3 + jcc_first(i - 500) * 5;
    sum += call_first(i) * 7 + loop_first(i) * 11 + jrcxz_first(i % 2) * 13;
    sum += back_to_start(i % 10) * 17 + with_endbr(i) * 19 + push_pop(i) * 23;
  }
  printf("prologues: %ld\n", sum);
  return 0;
}
