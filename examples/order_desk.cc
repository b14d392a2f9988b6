// SPDX-License-Identifier: MIT
// A small shop for docs/manual/cookbook.md: three threads answer requests. Two of the requests are
// bad and throw, a report is slow and takes 2 MB, and each order that is kept is never freed.
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct TooLate : std::runtime_error {
  using std::runtime_error::runtime_error;
};

pthread_mutex_t orders_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t stock_mutex = PTHREAD_MUTEX_INITIALIZER;
static int stock = 1000;

#define OWN __attribute__((noinline))

OWN int take_from_stock(int count) {
  pthread_mutex_lock(&stock_mutex);
  stock -= count;
  const int left = stock;
  pthread_mutex_unlock(&stock_mutex);
  return left;
}

OWN void keep_order(const std::string& item) {
  char* const note = static_cast<char*>(std::malloc(24));
  std::snprintf(note, 24, "%s", item.c_str());
}

OWN int order(const std::string& item, const std::vector<int>& counts) {
  if (counts.empty()) throw std::invalid_argument("an order of nothing");
  if (item == "icecream") throw TooLate("sold out");
  int left = 0;
  pthread_mutex_lock(&orders_mutex);
  for (int count : counts) left = take_from_stock(count);
  keep_order(item);
  usleep(1000);  // written down while nobody else may
  pthread_mutex_unlock(&orders_mutex);
  return left;
}

OWN long report() {
  constexpr size_t kBytes = 2 << 20;
  volatile char* const page = static_cast<char*>(std::malloc(kBytes));
  for (size_t i = 0; i < kBytes; i += 4096) page[i] = 1;
  usleep(5000);
  std::free(const_cast<char*>(page));
  return long(kBytes);
}

OWN int handle(const std::string& request) {
  try {
    if (request == "/report") return int(report());
    if (request == "/order/pears") return order("pears", {2, 3});
    if (request == "/order/icecream") return order("icecream", {1});
    return order(request, {});
  } catch (const std::exception&) {
    return -1;
  }
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  const auto work = [rounds] {
    for (int i = 0; i < rounds; i++) {
      for (const char* request : {"/order/pears", "/order/icecream", "/report", "/"})
        handle(request);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; i++) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  std::printf("%d left\n", stock);
}
