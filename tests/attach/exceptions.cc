// SPDX-License-Identifier: MIT
// Threads that throw and catch all the time: the unwinder walks the dynamic linker's list of
// objects (case 25). exceptions N.
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "attach_case.h"
}

static std::atomic<bool> stop_all;
static thread_local int destroyed;

struct Counted {
  ~Counted() { destroyed++; }
};

[[gnu::noinline]] static int deeper(int depth, int number) {
  Counted counted;
  if (depth == 0) throw std::runtime_error(std::to_string(number));
  return deeper(depth - 1, number) + 1;
}

static void throw_all_the_time(int number) {
  while (!stop_all) {
    destroyed = 0;
    try {
      deeper(10, number);
      wrong("nothing was thrown");
    } catch (const std::exception& error) {
      if (error.what() != std::to_string(number) || destroyed != 11) wrong("thrown wrongly");
    }
  }
}

int main(int argc, char** argv) {
  std::vector<std::thread> threads;
  for (int i = 0; i < (argc > 1 ? std::atoi(argv[1]) : 2); i++)
    threads.emplace_back(throw_all_the_time, i);
  ready();
  wait_until_told();
  stop_all = true;
  for (std::thread& thread : threads) thread.join();
  return finish();
}
