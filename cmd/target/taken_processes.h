// SPDX-License-Identifier: MIT
//
// The processes of a choice, for commands that take in one after the other and go on while others
// come: who is new, who counts with its parent, with whom it is tried again, and who is left out.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
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
  // Those that have come since, and forked children whose parent has ended. Ctrl-C ends it between
  // two.
  void take_in_newcomers();
  // Others may come (ProcessSource).
  bool may_grow() const { return source_.may_grow(); }
  // Somebody may be taken in by the next take_in_newcomers().
  bool may_come() const;
  // Those that are taken in now have come later: nobody should wait for them long.
  bool has_begun() const { return has_begun_; }
  // "in the control group /sys/fs/cgroup/…", where others may come from; empty: none may come.
  std::string waits_for() const { return may_grow() ? source_.where() : ""; }

  struct Refused {
    int pid = 0;
    std::string exe, reason;
    std::string text() const;  // "process 12 (sh) is not in the sums: it is a static program"
  };
  // Each once, in the order in which they were refused.
  const std::vector<Refused>& refused() const { return refused_; }
  // Sentences about processes that count for themselves since their parent has ended: what they did
  // in between is missing. Each is taken once.
  std::vector<std::string> take_gaps() { return std::exchange(gaps_, {}); }

 private:
  struct Known {
    enum class State : uint8_t { kTryAgain, kMember, kWithOwner, kRefused };
    RunningProcess process;
    State state = State::kTryAgain;
    RunningProcess owner;  // kWithOwner: a member in whose tables it counts
    int tries = 0;
    int64_t next_try = 0;  // ms
  };
  void take_in_all();
  bool is_news(const RunningProcess& process);
  void forget_who_is_gone(const std::vector<int>& pids);
  const RunningProcess* owner_of(int pid) const;
  void take_in(const RunningProcess& process);
  void refuse(const RunningProcess& process, const Error& error);

  const std::string what_;
  const Add add_;
  ProcessSource source_;
  std::string runtime_;
  std::map<int, Known> known_;
  std::vector<Refused> refused_;
  std::vector<std::string> gaps_;
  size_t nr_members_ = 0;
  bool has_begun_ = false;
};

}  // namespace patchbay::cmd
