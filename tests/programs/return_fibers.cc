// SPDX-License-Identifier: MIT
// Fibers: of makecontext, left in the middle for good, finished by another thread; and threads of
// the program's own making, switched by eight instructions.
// probe: ret_yield ret_step ret_inner
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "return_program.h"

constexpr size_t kStack = 64 * 1024;
constexpr int kFibers = 20;

static ucontext_t scheduler, fiber[kFibers];
static char* stack[kFibers];
static long total;
static int current;

extern "C" {
static long steps;
KEEP long ret_step(long n) {
  steps++;
  return n + 1;
}
KEEP long ret_yield(long n) {
  swapcontext(&fiber[current], &scheduler);
  return ret_step(n);
}
KEEP long ret_inner(int depth, long n) {
  return depth ? after_call(ret_inner(depth - 1, n)) + 1 : ret_yield(n);
}
}

static void run_fiber() {
  const int self = current;
  for (long i = 0;; i++) {
    total += ret_inner(self % 5, i);
    current = self;
  }
}

static void make_fiber(int i) {
  getcontext(&fiber[i]);
  fiber[i].uc_stack.ss_sp = stack[i];
  fiber[i].uc_stack.ss_size = kStack;
  fiber[i].uc_link = nullptr;
  makecontext(&fiber[i], run_fiber, 0);
}

static void* run_all(void*) {
  for (current = 0; current < kFibers; current++) {
    const int self = current;
    swapcontext(&scheduler, &fiber[self]);
    current = self;
  }
  return nullptr;
}

// --- a switch of the program's own: pushes what a call preserves, exchanges the stack pointers
extern "C" void switch_stacks(void** save, void* load);
__asm__(R"(
.text
.p2align 4
.globl switch_stacks
.type switch_stacks, @function
switch_stacks:
  push %rbx
  push %rbp
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbp
  pop %rbx
  ret
.size switch_stacks, . - switch_stacks
)");

static void *main_stack, *other_stack;
static long exchanged;
extern "C" KEEP long ret_exchange(long n) {
  switch_stacks(&other_stack, main_stack);
  return ret_step(n);
}
static void run_other() {
  for (long i = 0;; i++) exchanged += ret_exchange(i);
}

int main() {
  gate();
  for (int i = 0; i < kFibers; i++) {
    stack[i] = static_cast<char*>(malloc(kStack));
    make_fiber(i);
  }
  for (int round = 0; round < 1000; round++) run_all(nullptr);
  for (int i = 0; i < kFibers; i += 2) make_fiber(i);  // what they were in is forgotten
  for (int round = 0; round < 2001; round++) {
    pthread_t thread;
    if (round % 100) {
      run_all(nullptr);
    } else {
      pthread_create(&thread, nullptr, run_all, nullptr);
      pthread_join(thread, nullptr);
    }
  }
  char* own = static_cast<char*>(malloc(kStack));
  memset(own, 0, kStack);
  void** top = reinterpret_cast<void**>(own + kStack - 64);
  *top = reinterpret_cast<void*>(run_other);
  other_stack = top - 6;
  for (int i = 0; i < 1001; i++) switch_stacks(&main_stack, other_stack);
  printf("calls ret_step %ld\n", steps);
  printf("total %ld exchanged %ld\n", total, exchanged);
  gate();
}
