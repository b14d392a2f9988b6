// SPDX-License-Identifier: MIT
//
// Proof that no thread stands inside bytes that are about to change. Every instruction start among
// them holds int3 by then, so a thread that runs leaves them; only one that has not run since may
// be inside.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace patchbay {

class ThreadWatch {
 public:
  // Notes all other threads and how long each has run. Call after the cores were synchronized.
  void start();
  // Waits until every noted thread has run, is gone, or is blocked outside of pending sites; at
  // most `limit_us`. Returns true when that was reached for all.
  bool wait(uint64_t limit_us);
  // After a failed wait: is it one certain site that some blocked thread stands in (then only these
  // are unproven), or is some thread's place unknown (then all are)?
  bool unknown_place() const { return unknown_; }
  const std::vector<uint64_t>& occupied() const { return occupied_; }  // patch addresses
  uint64_t waited_us() const { return waited_us_; }

 private:
  struct Thread {
    pid_t tid;
    uint64_t run_time;
    bool done;
  };
  void check(Thread* thread);

  std::vector<Thread> threads_;
  std::vector<uint64_t> occupied_;
  bool unknown_ = false;
  uint64_t waited_us_ = 0;
};

}  // namespace patchbay
