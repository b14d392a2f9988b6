// SPDX-License-Identifier: MIT
//
// The file DIR/PID.attached: the agent of this process is there for commands that end, the last of
// which takes it out (attachment.h). It is flock()ed by one that is putting the agent in, is taking
// it out, or decides that it stays: they do it in turn. Its text is the time at which the process
// was started, so that a mark that somebody has left is not taken for that of a later process with
// the same number.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace patchbay::cmd {

// When process `pid` was started, in ticks since the boot; "": there is no such process.
std::string start_time_of(int pid);

class AttachedMark {
 public:
  AttachedMark() = default;
  // Waits for the lock. Not locked: there is none, or it is another user's. ETIMEDOUT: another
  // command does not come to its end.
  static Result<AttachedMark> lock_if_there(const std::string& runtime, int pid);
  // Makes it when there is none. `wait_ms`: for another command. EINTR: `is_interrupted` says so.
  static Result<AttachedMark> lock(const std::string& runtime, int pid, int wait_ms = 20'000,
                                   bool (*is_interrupted)() = nullptr);

  bool is_locked() const { return file_.valid(); }
  // Of the process that was started then. A new one is of none.
  bool is_of(const std::string& start_time) const;
  Status write(const std::string& start_time);
  void remove();  // the lock stays

 private:
  static Result<AttachedMark> lock_path(const std::string& path, int flags, int tries,
                                        bool (*is_interrupted)() = nullptr);
  friend bool remove_stale_mark(const std::string& path, bool dry_run);

  std::string path_;
  UniqueFd file_;
};

std::string attached_mark_path(const std::string& runtime, int pid);

// The marks of processes that have ended, in a runtime directory.
std::vector<std::string> stale_marks(const std::string& runtime);
// Removes one of them, unless a command has taken it up meanwhile.
bool remove_stale_mark(const std::string& path, bool dry_run);

}  // namespace patchbay::cmd
