// SPDX-License-Identifier: MIT
//
// Which running processes a command is about:
//
//   -p A -p B, --all          those, as they are at its beginning
//   --cgroup, --service,      all that are in the group whenever one looks, and in the groups below
//   --container
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/target/process_choice.h"

namespace patchbay::cmd {

class ProcessSource {
 public:
  // ESRCH, ENOENT with a sentence: a process that was named is not there, or a group.
  static Result<ProcessSource> of(const ProcessChoice& choice, const std::string& runtime);

  // Those that are there now; of processes that were named, also those that have ended.
  std::vector<int> look();
  bool is_named(int pid) const { return named_.contains(pid); }
  const std::set<int>& named() const { return named_; }
  // Others may come, as long as one of the groups is there.
  bool may_grow() const { return !groups_.empty(); }
  // "the control group /sys/fs/cgroup/system.slice/nginx.service"
  std::string what() const;

 private:
  std::set<int> named_;
  std::vector<std::string> groups_;
  std::map<std::string, std::vector<int>> last_;  // of each group
};

// Why a process cannot be taken in. It may go by: one that starts, is stopped, or has somebody
// else's hands on it.
bool may_go_by(const Error& error);
// "is statically linked": of "process 12 is statically linked", where a list says which it is.
std::string reason_in(const Error& error, int pid);

}  // namespace patchbay::cmd
