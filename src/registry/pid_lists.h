// SPDX-License-Identifier: MIT
//
// The lists of threads of instances (docs/files.md, "Lists of threads"): as files show them, and as
// the tables that traced threads look into (registry/pid_set.h). Registry::pid_lists() hands it
// out. Under the agent's lock, but for task_forked() and task_exited().
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "registry/pid_set.h"
#include "registry/registry.h"

namespace patchbay {

// set_event_pid, set_event_notrace_pid, set_ftrace_pid, set_ftrace_notrace_pid.
enum class PidList { kTrace, kNotrace, kFtrace, kFtraceNotrace };

class PidLists {
 public:
  explicit PidLists(Registry::Impl& core) : core_(core) {}

  Status add(TraceArray& array, PidList which, std::string_view text);
  Status clear(TraceArray& array, PidList which);  // O_TRUNC: no such list is in force

  // Options event-fork and function-fork: children of listed tasks are added, exiting ones removed.
  // From the thread hooks (or a program that plays tasks), any thread: they take the lock.
  void task_forked(uint32_t parent, uint32_t child);
  void task_exited(uint32_t pid);
  void follow_forks(bool on);  // An instance has set, or unset, such an option.

 private:
  Status use(TraceArray& array, PidList which, std::vector<uint32_t> pids, bool in_force);
  void follow_fork(TraceArray& array, PidList which, uint32_t parent, uint32_t child);

  Registry::Impl& core_;
  std::atomic<uint32_t> fork_followers_{0};  // instances with such an option
  std::vector<PidSetPtr> sets_;              // for good: a thread may still look into an old one
};

}  // namespace patchbay
