// SPDX-License-Identifier: MIT
// Restartable sequences of the program, as librseq and tcmalloc have them: each CPU's counter is
// added to without a lock prefix, and the sum must be exact. A place inside one is refused.
// event: bump(x64 area)
// probe: p:at_entry bump
// probe: p:tells bump+0x7
// probe: p:at_start bump+0xb
// probe: p:before_commit bump+0x25
// probe: p:behind bump+0x28
// refused: bump+0x7 restartable sequence
// refused: bump+0xb restartable sequence
// refused: bump+0x25 restartable sequence
#include <pthread.h>
#include <stdio.h>
#include <sys/rseq.h>

enum { kThreads = 4, kRounds = 40000 };
struct {
  long n, pad[15];
} counters[256] __attribute__((aligned(64)));

long bump(struct rseq* area, long* base);  // 1: it has added; 0: it was interrupted
__asm__(
    ".text\n.p2align 4\n.globl bump\n.type bump, @function\nbump:\n"
    " lea 9f(%rip), %rax\n mov %rax, 8(%rdi)\n"
    "1: mov 4(%rdi), %eax\n shl $7, %rax\n add %rsi, %rax\n mov (%rax), %rdx\n"
    " mov $400, %ecx\n5: dec %ecx\n jnz 5b\n"  // a while, so that preemption comes in between
    " add $1, %rdx\n mov %rdx, (%rax)\n2: mov $1, %eax\n ret\n"
    " .byte 0x0f, 0xb9, 0x3d\n .long 0x53053053\n3: xor %eax, %eax\n ret\n.size bump, . - bump\n"
    ".section __rseq_cs, \"aw\"\n.p2align 5\n9: .long 0, 0\n .quad 1b, 2b - 1b, 3b\n.text\n");
static long interrupted;

static void* run(void* unused) {
  struct rseq* area = (struct rseq*)((char*)__builtin_thread_pointer() + __rseq_offset);
  long gone = 0;
  for (int done = 0; done < kRounds;) {
    if (bump(area, &counters[0].n)) {
      done++;
    } else {
      gone++;
    }
  }
  __atomic_add_fetch(&interrupted, gone, __ATOMIC_SEQ_CST);
  return unused;
}

int main(void) {
  if (!__rseq_size) return puts("no rseq"), 2;
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; i++) pthread_create(&threads[i], 0, run, 0);
  for (int i = 0; i < kThreads; i++) pthread_join(threads[i], 0);
  long sum = 0;
  for (int i = 0; i < 256; i++) sum += counters[i].n;
  puts(sum == kThreads * kRounds ? "exact" : "LOST");
  return sum != kThreads * kRounds;
}
