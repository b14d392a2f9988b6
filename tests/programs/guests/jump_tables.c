// SPDX-License-Identifier: MIT
// Ways to the bytes behind a function's first instruction that no direct branch shows: tables of
// 32-bit distances and of addresses, an address that is pushed and returned to, an address in a
// register, one in an initialized variable.
// event: by_distance(long a, int n)
// event: by_address(long a, int n)
// event: by_push(long a, int n)
// event: by_register(long a, int n)
// event: by_variable(long a, int n)
#include <stdio.h>

long by_distance(long a, int n);
long by_address(long a, int n);
long by_push(long a, int n);
long by_register(long a, int n);
long by_variable(long a, int n);
extern void* to_variable;

// xor %eax, %eax; 1: add %rdi, %rax; dec %esi; js out; some way to 1
#define FUNCTION(name, way)                                                                      \
  ".text\n.p2align 4\n.globl " name "\n.type " name ",@function\n" name                          \
  ":\n"                                                                                          \
  " xor %eax, %eax\n1: add %rdi, %rax\n dec %esi\n js 2f\n" way "2: ret\n.size " name ",.-" name \
  "\n"
__asm__(FUNCTION("by_distance",
                 " lea 4f(%rip), %rcx\n mov %esi, %edx\n and $1, %edx\n"
                 " movslq (%rcx,%rdx,4), %rdx\n add %rcx, %rdx\n jmp *%rdx\n")
        ".section .rodata\n.p2align 2\n4: .long 1b-4b, 1b-4b\n.text\n");
__asm__(FUNCTION("by_address",
                 " lea 4f(%rip), %rcx\n mov %esi, %edx\n and $1, %edx\n jmp *(%rcx,%rdx,8)\n")
        ".section .data.rel.ro,\"aw\"\n.p2align 3\n4: .quad 1b, 1b\n.text\n");
__asm__(FUNCTION("by_push", " lea by_push+2(%rip), %rcx\n push %rcx\n ret\n"));
__asm__(FUNCTION("by_register", " lea 1b(%rip), %rcx\n jmp *%rcx\n"));
__asm__(FUNCTION("by_variable", " jmp *to_variable(%rip)\n")
        ".data\n.p2align 3\n.globl to_variable\nto_variable: .quad by_variable+2\n.text\n");

int main(void) {
  long sum = 0;
  for (int i = 0; i < 3000; i++) {
    sum += by_distance(i, i & 7) + by_address(i, i & 7) + by_push(i, i & 3) + by_register(i, 2) +
           by_variable(i, i & 5);
  }
  printf("sum %ld\n", sum);
  printf("calls by_distance 3000\ncalls by_address 3000\ncalls by_push 3000\n");
  printf("calls by_register 3000\ncalls by_variable 3000\n");
  return 0;
}
