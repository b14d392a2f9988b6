// SPDX-License-Identifier: MIT
//
// Whether a process that owes an answer is at work, or stopped: what its agent's control thread
// does, as /proc shows it. An answer may take long (the symbols of a large program, 50,000
// functions), so what counts is not the time but whether anything moves:
//
//   kLife      the thread runs, waits for a disk, or has run since the last look; or the process
//              has used processor time (a thread of the program may hold the agent's lock). Also
//              where we cannot see (another pid namespace, hidepid).
//   kStopped   by a signal or a debugger, and it has not run since the last look
//   kFrozen    its control group is frozen (docker pause, a suspended service)
//   kStill     none of these: it hangs
//
// An agent that does not want to answer can always show life. So life is believed for a limited
// time (client.h), and less of it when the tool is to end: then only what is_busy() counts.
#pragma once

#include <cstdint>
#include <string>

namespace patchbay::serve {

// What the agent's control thread is called.
inline constexpr const char* kControlThreadName = "patchbay";

class PeerWatch {
 public:
  enum class Sign { kLife, kStopped, kFrozen, kStill };

  // `pid` as we see it; 0: unknown. The control thread is looked for by its name when it is needed,
  // unless the agent has said its id.
  explicit PeerWatch(int pid = 0, int control_thread = 0) : pid_(pid), tid_(control_thread) {}

  int pid() const { return pid_; }
  Sign look();
  // Since the look before the last one it has used, or waited for, a processor for a tenth of the
  // time. One that answers a byte at a time has not.
  bool is_busy() const { return is_busy_; }
  // As it is now, without looking back.
  bool is_stopped();
  bool is_frozen();
  bool is_held();  // one of both, as far as a short look tells

 private:
  int control_thread();
  std::string file_of_thread(const char* name);

  bool stands_in_freezer();
  void note_use(char state, const std::string& schedule, bool moved);

  int pid_ = 0, tid_ = 0;
  uint64_t used_ns_ = 0, looked_ns_ = 0;
  bool is_busy_ = false;
  std::string last_, last_times_;  // what moves, as the last look saw it
};

}  // namespace patchbay::serve
