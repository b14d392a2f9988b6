// SPDX-License-Identifier: MIT
//
// Functions for events that are whole calls (tests/scripts/whole_calls.sh). It prints how often
// each has returned, and leaves some by an exception, by longjmp, and in a forked child.
// event: int r = add(int a, int b)
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#define TRACED extern "C" __attribute__((noinline, used))

TRACED int add(int a, int b) {
  asm volatile("");
  return a + b;
}
TRACED double scale(double x, int times, float more) {
  asm volatile("");
  return x * times + more;
}
TRACED float half(float x) {
  asm volatile("");
  return x / 2;
}
// What it is given is changed before it returns.
TRACED long fill(char* name, char* buffer, long size, int* used) {
  const long length = snprintf(buffer, size_t(size), "filled for %s", name);
  std::strcpy(name, "gone");
  *used = int(length);
  return length;
}
TRACED const char* name_of(int which) {
  static const char* const names[] = {"zero", "one"};
  return which < 2 ? names[which] : reinterpret_cast<const char*>(16);
}
TRACED int recurse(int depth) {
  const int below = depth ? recurse(depth - 1) : 0;
  asm volatile("");
  return below + 1;
}
TRACED void rests(int ms) {
  const timespec span{0, ms * 1000000L};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &span, nullptr);
}
TRACED int throws(int how) {
  if (how) throw std::runtime_error("left");
  asm volatile("");
  return 5;
}
static jmp_buf place;
TRACED int jumps(int how) {
  if (how) longjmp(place, 1);
  asm volatile("");
  return 6;
}
TRACED long double third(long double x) {
  asm volatile("");
  return x / 3;
}
TRACED int fails(int with) {
  errno = with;
  return -1;
}
TRACED long many(long a, long b, long c, long d, long e, long f, const char* text) {
  asm volatile("" : : "r"(text));
  return a + b + c + d + e + f;
}

static std::atomic<long> g_in_handler;
static void on_signal(int) { g_in_handler += add(1, 1) == 2; }

int main(int argc, char** argv) {
  const int nr_threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const long rounds = argc > 2 ? std::atol(argv[2]) : 100;
  std::vector<std::thread> threads;
  for (int t = 0; t < nr_threads; t++)
    threads.emplace_back([t, rounds] {
      for (long i = 0; i < rounds; i++)
        if (add(t, int(i)) != t + i) std::abort();
    });
  for (std::thread& thread : threads) thread.join();
  std::printf("calls add %ld\n", nr_threads * rounds);

  signal(SIGUSR1, on_signal);
  for (int i = 0; i < 50; i++) raise(SIGUSR1);
  std::printf("calls add %ld\n", g_in_handler.load());

  static double sum;  // these two outlive longjmp
  static int caught;
  sum = scale(1.5, 4, 0.25f) + half(3);
  char name[] = "someone", buffer[64];
  int used = 0;
  fill(name, buffer, sizeof buffer, &used);
  for (int i = 0; i < 3; i++) sum += name_of(i) != nullptr;
  sum += recurse(40);
  rests(30);
  sum += many(1, 2, 3, 4, 5, 6, "on the stack");
  static long double thirds;
  for (int i = 1; i <= 30; i++) thirds += third(i) * 0.5L + third(1.5L);
  errno = ENOENT;
  for (int i = 1; i <= 3; i++) sum += fails(i) + errno;
  for (volatile int i = 0; i < 100; i = i + 1) {
    try {
      sum += throws(i % 2);
    } catch (const std::exception&) {
      caught++;
    }
    if (!setjmp(place)) sum += jumps(i % 2);
  }
  std::printf("sum %.2f, caught %d, %s, %d, %.18Lg\n", sum, caught, buffer, used, thirds);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 10; i++)
      if (add(1000, i) != 1000 + i) std::abort();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("the child's end: %d\n", status);
  return 0;
}
