// SPDX-License-Identifier: MIT
//
// THREADS threads call work() CALLS times each; prints the total. Whatever a tracer says, recorded
// plus lost must be this number.
//
//   patchbay record -e 'work(int thread, long i)' -- ./threads 8 100000
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

extern "C" [[gnu::noinline]] long work(int thread, long i) {
  asm volatile("" : "+r"(i) : "r"(thread) : "memory");
  return i + thread;
}

static void call_often(int thread, long calls, long* hits) {
  long done = 0;
  for (long i = 0; i < calls; ++i) {
    work(thread, i);
    ++done;
  }
  *hits = done;
}

int main(int argc, char** argv) {
  int threads = argc > 1 ? std::atoi(argv[1]) : 8;
  long calls = argc > 2 ? std::atol(argv[2]) : 100000;
  std::vector<long> hits(static_cast<size_t>(threads));
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t) pool.emplace_back(call_often, t, calls, &hits[t]);
  for (std::thread& thread : pool) thread.join();
  long total = 0;
  for (long n : hits) total += n;
  std::printf("hits %ld\n", total);
  return 0;
}
