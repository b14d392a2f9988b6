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
//   kStill     none of these: frozen, or it hangs
#pragma once

#include <string>

namespace patchbay::serve {

// What the agent's control thread is called.
inline constexpr const char* kControlThreadName = "patchbay";

class PeerWatch {
 public:
  enum class Sign { kLife, kStopped, kStill };

  // `pid` as we see it; 0: unknown. The control thread is looked for by its name when it is needed,
  // unless the agent has said its id.
  explicit PeerWatch(int pid = 0, int control_thread = 0) : pid_(pid), tid_(control_thread) {}

  int pid() const { return pid_; }
  Sign look();
  // As it is now, without looking back.
  bool is_stopped();

 private:
  int control_thread();
  std::string file_of_thread(const char* name);

  int pid_ = 0, tid_ = 0;
  std::string last_;  // what moves, as the last look saw it
};

}  // namespace patchbay::serve
