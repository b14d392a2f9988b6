// SPDX-License-Identifier: MIT
//
// The processes of a choice, for commands that take in one after the other and go on while others
// come: who is new, who counts with its parent, with whom it is tried again, and who is left out.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/target/process_source.h"
#include "cmd/target/running_process.h"

namespace patchbay::cmd {

class TakenProcesses {
 public:
  // Takes one process in. What fails may go by (may_go_by()): then it is asked again.
  using Add = std::function<Status(const RunningProcess&)>;
  // `what`: "counted", of those that are taken in.
  TakenProcesses(std::string what, Add add) : what_(std::move(what)), add_(std::move(add)) {}

  // Those that are there. An error: there is none that can be taken in, and none can come.
  Status begin(const ProcessChoice& choice);
  // Those that have come since. Ctrl-C ends it between two.
  void take_in_newcomers();
  // Others may come, as long as one of the control groups is there.
  bool may_grow() const { return source_.may_grow(); }
  // "the control group /sys/fs/cgroup/…" that others may come from; empty: none may come.
  std::string waits_for() const { return may_grow() ? source_.what() : ""; }

  struct Refused {
    int pid = 0;
    std::string exe, reason;
    std::string text() const;  // "process 12 (sh) is not in the sums: it is a static program"
  };
  // Each once, in the order in which they were refused.
  const std::vector<Refused>& refused() const { return refused_; }

 private:
  struct Known {
    RunningProcess process;
    int tries = 0;
    bool is_member = false, is_settled = false;
  };
  bool is_news(const RunningProcess& process);
  void take_in(const RunningProcess& process);

  const std::string what_;
  const Add add_;
  ProcessSource source_;
  std::string runtime_;
  std::map<int, Known> known_;
  std::vector<Refused> refused_;
  size_t nr_members_ = 0;
};

}  // namespace patchbay::cmd
