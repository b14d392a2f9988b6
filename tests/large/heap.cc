// SPDX-License-Identifier: MIT
// Allocates from many call paths, for the profilers of tcmalloc and jemalloc, which walk the stack.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

__attribute__((noinline)) long grow(int depth, std::vector<std::string>* into) {
  if (depth == 0) throw std::runtime_error("deep enough");
  into->push_back(std::string(size_t(depth) * 1000, 'x'));
  const long size = long(into->back().size());
  return grow(depth - 1, into) + size;
}

static long work(int rounds) {
  long sum = 0;
  for (int i = 0; i < rounds; i++) {
    std::vector<std::string> all;
    try {
      sum += grow(i % 20 + 1, &all);
    } catch (const std::runtime_error& error) {
      sum += long(all.size()) + error.what()[0];
    }
  }
  return sum;
}

int main() {
  long other = 0;
  std::thread thread([&other] { other = work(1500); });
  const long sum = work(1500);
  thread.join();
  std::printf("%ld %ld\n", sum, other);
}
