// SPDX-License-Identifier: MIT
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
static int thrower(int n) { if (n % 3 == 0) throw std::runtime_error("x"); return n; }
int main() {
  std::vector<std::thread> threads;
  long sums[8] = {};
  for (int t = 0; t < 8; t++) threads.emplace_back([&sums, t] {
    std::map<std::string, int> m;
    for (int i = 0; i < 3000; i++) {
      try { sums[t] += thrower(i); } catch (const std::exception&) { sums[t]--; }
      m[std::to_string(i % 100)]++;
    }
    sums[t] += long(m.size());
  });
  for (auto& t : threads) t.join();
  long sum = 0;
  for (long s : sums) sum += s;
  std::printf("%ld\n", sum);
}
