// SPDX-License-Identifier: MIT
// A 32-bit program without any library, which waits for a byte (case 61). The harness compiles it:
//   gcc -m32 -nostdlib -static -ffreestanding -fno-pie -no-pie -O1 freestanding_i386.c
static int call(int number, int fd, const void* data, int size) {
  int answer;
  __asm__ volatile("int $0x80" : "=a"(answer) : "a"(number), "b"(fd), "c"(data), "d"(size)
                   : "memory");
  return answer;
}
void _start(void);
void _start(void) {
  char byte;
  call(4, 2, "ready\n", 6);
  call(3, 0, &byte, 1);
  call(4, 1, "done\n", 5);
  call(1, 0, 0, 0);
  for (;;) {}
}
