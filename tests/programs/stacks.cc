// SPDX-License-Identifier: MIT
//
// Stacks to be compared with those of a debugger (tests/scripts/stacks.sh): `place` is met at its
// entry from everywhere that a stack can be unusual, one after the other. Without frame pointers,
// as -O2 makes it.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <functional>
#include <stdexcept>
#include <thread>

namespace {
volatile int sink;
}

#define OWN_FRAME __attribute__((noinline, noclone))

extern "C" OWN_FRAME void leaf_place(int n) { sink = n; }
extern "C" OWN_FRAME int place(int n) {
  leaf_place(n);
  return sink + n;
}

OWN_FRAME int nested(int depth) { return depth ? nested(depth - 1) + sink : place(1) + sink; }

OWN_FRAME int with_room(size_t size) {
  auto* room = static_cast<volatile char*>(__builtin_alloca(size));
  room[0] = 2;
  return place(room[0]) + room[size - 1];
}

OWN_FRAME int realigned(size_t size) {
  alignas(64) volatile char aligned[128];
  auto* room = static_cast<volatile char*>(__builtin_alloca(size));
  room[0] = 3;
  aligned[0] = room[0];
  return place(aligned[0]) + room[size - 1];
}

int by_value(const void* a, const void* b) {
  place(4);
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

void on_signal(int) { place(5); }

OWN_FRAME void throw_and_catch() {
  try {
    if (sink >= 0) throw std::runtime_error("caught");
  } catch (const std::exception&) {
    place(6);
  }
}

int main() {
  char gate;
  if (read(0, &gate, 1) < 0) return 1;
  int numbers[] = {2, 1};
  static char other_stack[1 << 16];
  stack_t stack = {};
  stack.ss_sp = other_stack;
  stack.ss_size = sizeof other_stack;
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  nested(6);
  with_room(size_t(getpid()) % 64 + 100);
  realigned(size_t(getpid()) % 64 + 100);
  qsort(numbers, 2, sizeof numbers[0], by_value);
  std::function<int(int)> function = [](int n) { return place(n) + sink; };
  function(7);
  raise(SIGUSR1);
  throw_and_catch();
  std::thread([] { nested(2); }).join();
  constexpr char kThrough[] = "through\n";
  if (write(1, kThrough, sizeof kThrough - 1) < 0 || read(0, &gate, 1) < 0) return 1;
  return 0;
}
