// SPDX-License-Identifier: MIT
//
// Who traces is a thread. One of our own for each time: with it everything that it still traces is
// let go. A second process sees to it that a tool which is stopped holds nobody (stop_watch.h).
//
// Where a thread of the process executes another program meanwhile, the kernel ends its other
// threads first, and waits until those that are traced have been waited for. With a lock held, for
// which the next PTRACE_SEIZE of our thread waits. So the thread that has made ours waits for them.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "attach/stop_watch.h"
#include "base/result.h"
#include "serve/told_to_end.h"

namespace patchbay::attach {

// Waits for those threads of `pid`, but its first one, that have ended while we traced them.
void reap_ended(pid_t pid);

template <typename T, typename F>
Result<T> on_own_thread(pid_t pid, const F& run) {
  constexpr std::chrono::milliseconds kPatience(50);
  // A page of the process may be a file's that its user never gives (FUSE): the kernel waits for it
  // until we die, and lets all threads go then. Nothing of ours takes as long.
  constexpr int kMostLooksTold = 300, kInterrupted = 130;
  std::optional<Result<T>> result;
  std::mutex mutex;
  std::condition_variable is_done;
  bool done = false;
  std::thread tracer([&] {
    {
      const StopWatch watch;
      result.emplace(run());
    }
    const std::lock_guard lock(mutex);
    done = true;
    is_done.notify_one();
  });
  int looks_told = 0;
  for (std::unique_lock lock(mutex); !is_done.wait_for(lock, kPatience, [&] { return done; });) {
    reap_ended(pid);
    if (serve::is_told_to_end() && ++looks_told > kMostLooksTold) ::_exit(kInterrupted);
  }
  tracer.join();
  return std::move(*result);
}

}  // namespace patchbay::attach
