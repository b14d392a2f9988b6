// SPDX-License-Identifier: MIT
//
// The processes that `patchbay hist` and its like count in: one, a program that is started, or
// several, whose tables are added up:
//
//   process 12  CountedProcess ── look ──> its texts ─┐
//   process 15  CountedProcess ── look ──> its texts ─┼─> hist_sum.h
//   process 17  has ended:    what it left, or had ───┘
//
// Of control groups those that come are taken in at the next look. A process whose histograms are
// not those of the first one, or that lacks the event, is refused.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cmd/measure/counted_process.h"
#include "cmd/measure/hist_target.h"
#include "cmd/target/taken_processes.h"

namespace patchbay::cmd {

class CountedProcesses {
 public:
  // Defines what the plan is about in a process, and makes it.
  using Prepare = std::function<Result<HistPlan>(CountedProcess&)>;
  CountedProcesses(const HistTarget& target, Prepare prepare);

  // All of them count from here on; but CMD, which is held. `quiet`: what CMD prints does not
  // disturb our screen. An error of several: none of them can be counted.
  Status begin(bool quiet);
  Status release();  // CMD runs
  TracedChild* child() const { return members_.empty() ? nullptr : members_.front()->child(); }

  void look();
  // All have ended, and no others can come.
  bool ended() const;
  // The last look at all that go on.
  void look_last();

  bool is_several() const { return target_.processes.is_several(); }
  const std::vector<std::unique_ptr<CountedProcess>>& members() const { return members_; }
  // A text for each histogram; of several what `member` (none: all) has counted, in the form that
  // was asked for. Empty: there is nothing yet.
  std::vector<std::string> texts(const CountedProcess* member = nullptr) const;

  const std::vector<TakenProcesses::Refused>& refused() const { return taken_.refused(); }
  // Sentences about processes whose last counts are missing, or old. Each is taken once.
  std::vector<std::string> take_losses() { return std::exchange(losses_, {}); }
  std::string waits_for() const { return taken_.waits_for(); }

 private:
  Status add(const RunningProcess& process);
  void note_last(CountedProcess* member);
  void add_to_gone(CountedProcess* member);

  const HistTarget& target_;
  const Prepare prepare_;
  TakenProcesses taken_;  // of several
  std::vector<std::unique_ptr<CountedProcess>> members_;
  bool shows_each_ = false;        // one can be shown alone
  std::vector<std::string> gone_;  // the sums of those that have ended, and have no texts any more
  std::set<const CountedProcess*> done_;  // whose last counts are there
  std::vector<std::string> losses_;
};

}  // namespace patchbay::cmd
