// SPDX-License-Identifier: MIT
// Fibers with stacks of their own: some end, some are dropped half way and their stacks used again
// at once, some go on in another thread. And longjmp over calls between.
// build: -O2 -pthread
// event: deep(int n, int id)
// event: plain(int n)
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

enum { kFibers = 16, kStack = 64 * 1024 };
static char stacks[kFibers][kStack] __attribute__((aligned(16)));
static ucontext_t fiber[kFibers];
static __thread ucontext_t* back;
static long sum, wrong;
static int made[kFibers];
static int current;

__attribute__((noinline)) static ucontext_t* own_back(void) { return back; }

__attribute__((noinline)) long deep(int n, int id) {
  if (n) return deep(n - 1, id) + 1;
  swapcontext(&fiber[id], own_back());
  return id * 100;
}
__attribute__((noinline)) int plain(int n) { return n + 3; }

static void body(void) {
  const int id = current;
  const long r = deep(id % 7 + 2, id);
  wrong += r != id * 100 + id % 7 + 2;
  sum += r;
  made[id] = 0;
  setcontext(own_back());
}

static void make(int id, ucontext_t* here) {
  getcontext(&fiber[id]);
  fiber[id].uc_stack.ss_sp = stacks[id];
  fiber[id].uc_stack.ss_size = kStack;
  fiber[id].uc_link = NULL;
  makecontext(&fiber[id], body, 0);
  made[id] = 1;
  current = id;
  back = here;
  swapcontext(here, &fiber[id]);
}

static void* go_on(void* which) {
  const int id = *(int*)which;
  ucontext_t here;
  back = &here;
  if (made[id]) swapcontext(&here, &fiber[id]);
  return NULL;
}

static jmp_buf out;
__attribute__((noinline)) int leaves(int n) {
  if (!n) longjmp(out, 1);
  return leaves(n - 1) + plain(n);
}

int main(void) {
  ucontext_t here;
  unsigned seed = 1;
  for (int i = 0; i < 3000; i++) {
    seed = seed * 1103515245 + 12345;
    int id = (int)(seed >> 16) % kFibers;
    if (!made[id] || (seed >> 8) % 5 == 0) {
      make(id, &here);  // an unfinished one is dropped
    } else if ((seed >> 8) % 5 == 1) {
      pthread_t thread;
      pthread_create(&thread, NULL, go_on, &id);
      pthread_join(thread, NULL);
    } else {
      go_on(&id);
    }
    if (!setjmp(out)) leaves(i % 12);
    wrong += plain(i) != i + 3;
  }
  printf("sum %ld wrong %ld\n", sum, wrong);
  return wrong != 0;
}
