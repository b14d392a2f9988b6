/* SPDX-License-Identifier: MIT
 *
 * A program that root owns and that anybody may run as root (the script makes it so). It looks
 * whether somebody has written into it: the words of its two threads, the registers of the first.
 *   set_user_id GO                  ends when something is written into the pipe GO
 *   set_user_id GO ROUNDS PROGRAM   looks after a moment, and executes PROGRAM as the user who has
 *                                   called it, which executes this one again */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kBytes = 4096 };
static __thread volatile unsigned char words[kBytes];
static int touched;
static volatile int ends;
static const char* go;
static int rounds, comes_back;

static void look(const char* whose) {
  for (int i = 0; i < kBytes; i++)
    if (words[i] && ++touched) {
      printf("touched: word %d of the %s thread\n", i, whose);
      return;
    }
}

static void* second(void* unused) {
  char byte;
  const int pipe = comes_back ? -1 : open(go, O_RDONLY);
  if (comes_back) usleep((useconds_t)(getpid() * 7919 + rounds * 104729) % 1500);
  while (!comes_back && read(pipe, &byte, 1) != 1) {
  }
  look("second");
  ends = 1;
  return unused;
}

int main(int argc, char** argv) {
  pthread_t thread;
  uint64_t kept[4];
  if (argc != 2 && argc != 4) return 2;
  go = argv[1];
  comes_back = argc == 4;
  if (comes_back) rounds = atoi(argv[2]);
  setvbuf(stdout, NULL, _IONBF, 0);
  if (pthread_create(&thread, NULL, second, NULL) != 0) return 2;
  if (!comes_back) printf("executed: user %d\n", geteuid());
  __asm__ volatile(
      "mov $0x1111, %%r12\n mov $0x2222, %%r13\n mov $0x3333, %%r14\n mov $0x4444, %%r15\n"
      "1: pause\n cmpl $0, (%1)\n je 1b\n"
      "mov %%r12, (%0)\n mov %%r13, 8(%0)\n mov %%r14, 16(%0)\n mov %%r15, 24(%0)\n"
      :
      : "a"(kept), "d"(&ends)
      : "r12", "r13", "r14", "r15", "memory", "cc");
  pthread_join(thread, NULL);
  look("first");
  if (kept[0] != 0x1111 || kept[1] != 0x2222 || kept[2] != 0x3333 || kept[3] != 0x4444)
    printf("touched: registers %d\n", ++touched);
  if (comes_back && !touched && rounds > 0 && setresuid(getuid(), getuid(), getuid()) == 0) {
    char left[16];
    snprintf(left, sizeof left, "%d", rounds - 1);
    execl(argv[3], argv[3], "storm", argv[0], go, left, (char*)NULL);
  }
  puts(touched ? "somebody was here" : "untouched");
  return touched != 0;
}
