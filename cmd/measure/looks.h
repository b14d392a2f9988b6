// SPDX-License-Identifier: MIT
//
// When a command looks again at the processes that count for it, and what it says about counts that
// it has not seen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace patchbay::cmd {

// A process may end at once, so the first pauses are short. Looks that take long, at many
// processes, take no more than one in 20 of the time, but come every 2 s.
class LookPause {
 public:
  LookPause(int first_ms, int most_ms) : ms_(first_ms), most_ms_(most_ms) {}
  int ms() const { return ms_; }
  // After a look that took so long.
  void next(int64_t look_ms);

 private:
  int ms_;
  const int most_ms_;  // of looks that take no time
};
// Of several processes.
inline constexpr int kFirstLookMs = 5, kMostLookMs = 250;

// For another command that sets up a process that comes: meanwhile the others are not looked at.
inline constexpr int kNewcomerWaitMs = 1000;

// Ends of sentences about a process. `age_ms`: of the last look at it.
std::string lost_at_end_text(int64_t age_ms);     // it was killed, or has executed another program
std::string counted_before_text(int64_t age_ms);  // the second, and it is said before
std::string silent_text(int64_t age_ms);          // it does not answer

}  // namespace patchbay::cmd
