// SPDX-License-Identifier: MIT
#include "cmd/common/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <thread>
#include <vector>

namespace patchbay::cmd {
namespace {

constexpr size_t kMostThreads = 256;

}  // namespace

Status guarded(const std::function<Status()>& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return user_error(ENOMEM, "There is not enough memory for what it answers.");
  } catch (const std::exception& exception) {
    return user_error(ENOMEM, exception.what());
  }
}

void side_by_side(size_t count, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next{0};
  const auto run = [&] {
    for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) work(i);
  };
  std::vector<std::thread> threads;
  try {
    while (threads.size() + 1 < std::min(count, kMostThreads)) threads.emplace_back(run);
  } catch (const std::exception&) {  // those that there are do it
  }
  run();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace patchbay::cmd
