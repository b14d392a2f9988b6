// SPDX-License-Identifier: MIT
//
// Which running processes a command is about:
//
//   -p A -p B, --all          those, as they are at its beginning
//   --cgroup, --service,      all that are in the group whenever one looks, and in the groups below
//   --container
//   --exe, --comm, --tree     of those, the ones for which they are true; without any of those:
//                             of all that this user may look into, whenever one looks
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/target/process_choice.h"
#include "cmd/target/process_tree.h"

namespace patchbay::cmd {

class ProcessSource {
 public:
  // ESRCH, ENOENT with a sentence: a process that was named is not there, or a group; or all were
  // named, and none is chosen.
  static Result<ProcessSource> of(const ProcessChoice& choice, const std::string& runtime);

  // Those that are there now; of processes that were named, also those that have ended.
  std::vector<int> look();
  bool is_named(int pid) const { return named_.contains(pid); }
  const std::set<int>& named() const { return named_; }
  // Others may come, as long as one of the groups is there, or somebody of the trees.
  bool may_grow() const {
    return !groups_.empty() || (chooses_of_all_ && (who_.trees.empty() || trees_.lives()));
  }
  // Where others may come from, behind "no process is": "in the control group
  // /sys/fs/cgroup/system.slice/nginx.service", "chosen by --exe nginx".
  std::string where() const;

 private:
  Status add_named(const std::vector<int>& pids);
  Status add_all(const std::string& runtime);
  Status choose_of_named();
  bool is_chosen(int pid) const;

  std::set<int> named_;
  WhoChoice who_;
  ProcessTrees trees_;
  bool chooses_of_all_ = false;
  std::vector<std::string> groups_;
  std::map<std::string, std::vector<int>> last_;  // of each group
};

// Why a process cannot be taken in. It may go by: one that starts, is stopped, or has somebody
// else's hands on it.
bool may_go_by(const Error& error);
// An error, which may go by, of a process that is frozen: it would do nothing that it is asked for.
Status check_not_frozen(int pid);
// "is statically linked": of "process 12 is statically linked", where a list says which it is.
std::string reason_in(const Error& error, int pid);

}  // namespace patchbay::cmd
