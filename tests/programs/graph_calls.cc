// SPDX-License-Identifier: MIT
//
// Calls of every kind that a call graph has to tell apart, counted by the program itself: leaves,
// nesting, recursion, threads, an exception through two traced frames, longjmp, and two calls that
// are open when exit() ends it. Prints "NAME CALLS" for each function.
//
//   graph_calls [stay [N]]     stay: goes on calling until its input ends, N times a millisecond
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#define CALL extern "C" __attribute__((noinline, used))

enum Name { kLeaf, kMiddle, kRecurse, kThread, kCatch, kPass, kThrow, kSet, kJump, kOuter, kEnd };
static const char* const kNames[] = {"leaf",  "middle", "recurse", "thread", "catch", "pass",
                                     "throw", "set",    "jump",    "outer",  "end"};
static std::atomic<unsigned long> counts[11];
static std::jmp_buf place;

CALL int calls_leaf(int n) {
  counts[kLeaf]++;
  return n + 1;
}
CALL int calls_middle(int n) {
  counts[kMiddle]++;
  int sum = 0;
  for (int i = 0; i < 3; ++i) sum += calls_leaf(n + i);
  return sum;
}
CALL int calls_recurse(int n) {
  counts[kRecurse]++;
  int below = n > 0 ? calls_recurse(n - 1) : 0;
  __asm__ volatile("" : "+r"(below));
  return below + 1;
}
CALL int calls_thread(int n) {
  counts[kThread]++;
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += calls_middle(i);
  return sum;
}
CALL int calls_throw(int n) {
  counts[kThrow]++;
  if (n >= 0) throw n;
  return n;
}
CALL int calls_pass(int n) {
  counts[kPass]++;
  int got = calls_throw(n);
  __asm__ volatile("" : "+r"(got));
  return got + 1;
}
CALL int calls_catch(int n) {
  counts[kCatch]++;
  int got = 0;
  try {
    got = calls_pass(n);
  } catch (int thrown) {
    got = thrown;
  }
  __asm__ volatile("" : "+r"(got));
  return got + calls_leaf(n);
}
CALL int calls_jump(int n) {
  counts[kJump]++;
  if (n >= 0) std::longjmp(place, 1);
  return n;
}
CALL int calls_set(int n) {
  counts[kSet]++;
  if (setjmp(place) == 0) return calls_jump(n) + 1;
  return calls_leaf(n);
}
CALL void calls_end(int status) {
  counts[kEnd]++;
  for (int i = 0; i < 11; ++i) std::printf("%s %lu\n", kNames[i], counts[i].load());
  std::fflush(stdout);
  std::exit(status);
}
CALL int calls_outer(int status) {
  counts[kOuter]++;
  calls_end(status);
  __asm__ volatile("" : "+r"(status));
  return status + 1;
}

static void stay(int times) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  while (::poll(&input, 1, 1) == 0)
    for (int i = 0; i < times; ++i) calls_middle(i);
}

int main(int argc, char** argv) {
  std::thread one(calls_thread, 50), two(calls_thread, 100);
  for (int i = 0; i < 10; ++i) calls_middle(i);
  for (int i = 0; i < 3; ++i) calls_recurse(5);
  for (int i = 0; i < 4; ++i) calls_catch(i);
  for (int i = 0; i < 2; ++i) calls_set(i);
  one.join();
  two.join();
  if (argc > 1 && std::strcmp(argv[1], "stay") == 0) stay(argc > 2 ? std::atoi(argv[2]) : 100);
  calls_outer(0);
}
