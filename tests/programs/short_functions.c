// SPDX-License-Identifier: MIT
// Functions of one to eight bytes, side by side without padding, called in every order.
// event: bytes1()
// event: bytes3()
// event: bytes4(int a, int b)
// event: bytes5(int a, int b)
// event: bytes6(int a)
// event: bytes8(int a)
#include <stdio.h>

__asm__(
    ".text\n.p2align 4\n"
    ".macro fn name\n.globl \\name\n.type \\name,@function\n\\name:\n.endm\n"
    "fn bytes1\n ret\n.size bytes1,.-bytes1\n"
    "fn bytes3\n xorl %eax,%eax\n ret\n.size bytes3,.-bytes3\n"
    "fn bytes4\n leal (%rdi,%rsi),%eax\n ret\n.size bytes4,.-bytes4\n"
    "fn bytes5\n nop\n leal (%rdi,%rsi),%eax\n ret\n.size bytes5,.-bytes5\n"
    "fn bytes6\n movl $77,%eax\n ret\n.size bytes6,.-bytes6\n"
    "fn bytes8\n leal 0x100(%rdi),%eax\n nop\n ret\n.size bytes8,.-bytes8\n"
    "fn after_all\n movl $5,%eax\n ret\n.size after_all,.-after_all\n");
void bytes1(void);
int bytes3(void);
int bytes4(int a, int b);
int bytes5(int a, int b);
int bytes6(int a);
int bytes8(int a);
int after_all(void);

int main(void) {
  long sum = 0;
  for (int i = 0; i < 1000; ++i) {
    bytes1();
    sum += bytes3() + bytes4(i, 1) + bytes5(i, 2) + bytes6(i) + bytes8(i) + after_all();
  }
  printf("short_functions: %ld\n", sum);
  return 0;
}
