// SPDX-License-Identifier: MIT
//
// The processes that `patchbay hist` and its like count in: one, a program that is started, or
// several, whose tables are added up:
//
//   process 12  CountedProcess ── look ──> its images ─┐
//   process 15  CountedProcess ── look ──> its images ─┼─> hist_sum.h
//   process 17  has ended:     what it left, or had ───┘
//
// Of control groups those that come are taken in at the next look. A process whose histograms are
// not those of the first one, or that lacks the event, is refused.
//
// A program that is started may execute others in its place (executed_programs.h). Each is a member
// of its own, whose tables are added up in the same way; the first one stays, as it has CMD.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cmd/measure/counted_process.h"
#include "cmd/measure/executed_notes.h"
#include "cmd/measure/hist_target.h"
#include "cmd/target/taken_processes.h"

namespace patchbay::cmd {

class CountedProcesses : public ExecListener {
 public:
  // Defines what the plan is about in a process, and makes it.
  using Prepare = std::function<Result<HistPlan>(CountedProcess&)>;
  CountedProcesses(const HistTarget& target, Prepare prepare);

  // All of them count from here on; but CMD, which is held. `quiet`: what CMD prints does not
  // disturb our screen. An error of several: none of them can be counted.
  Status begin(bool quiet);
  Status release();  // CMD runs
  TracedChild* child() const { return members_.empty() ? nullptr : members_.front()->child(); }
  // Waits for CMD, as TracedChild::wait().
  TracedChild::Event wait(int timeout_ms) {
    return members_.front()->program().wait(timeout_ms, *this);
  }
  int descriptor() const;  // readable when wait() has something to do; -1: nothing is followed
  int exit_status() { return members_.front()->program().exit_status(); }  // of CMD
  // What CMD executes from here on is not counted.
  void stop_following() { members_.front()->program().stop_following(*this); }

  void look();
  // All have ended, and no others can come.
  bool ended() const;
  // The last look at all that go on.
  void look_last();

  bool is_several() const { return target_.processes.is_several(); }
  const std::vector<std::unique_ptr<CountedProcess>>& members() const { return members_; }
  // One for each histogram; of several what `member` (none: all) has counted.
  std::vector<HistImagePtr> images(const CountedProcess* member = nullptr) const;
  // The tables of some process are there, or were.
  bool is_counting() const { return reference_.has_value(); }
  // The program that CMD is; null: it is not counted.
  CountedProcess* current() const { return current_; }
  // Sentences about what CMD has executed.
  std::vector<std::string> take_about_executed();

  const std::vector<TakenProcesses::Refused>& refused() const { return taken_.refused(); }
  // Sentences about processes whose last counts are missing, or old. Each is taken once.
  std::vector<std::string> take_losses() { return std::exchange(losses_, {}); }
  std::string waits_for() const { return taken_.waits_for(); }

  // ExecListener:
  // Of two threads that execute at once the second may be heard when the first one is through.
  void before_exec() override { was_looked_at_ |= current_ && current_->look().ok(); }
  void stays() override { was_looked_at_ = false; }
  void executed(ExecutedProgram program) override;
  bool current_is_gone() const override { return !current_ || current_->ended(); }

 private:
  // What the tables of all have in common.
  struct Reference {
    int pid;
    std::vector<HistImagePtr> images;  // empty ones
  };
  Status add(const RunningProcess& process);
  Status start(bool quiet);
  Status set_up_own(CountedProcess* member);
  Status compare(const CountedProcess& member);
  void end_current(const std::string& successor);
  void note_last(CountedProcess* member);
  void add_to_gone(CountedProcess* member);

  const HistTarget& target_;
  const Prepare prepare_;
  TakenProcesses taken_;  // of several
  std::vector<std::unique_ptr<CountedProcess>> members_;
  bool shows_each_ = false;         // one can be shown alone
  std::vector<HistImagePtr> gone_;  // the sums of those that have ended, and have none any more
  std::set<const CountedProcess*> done_;  // whose last counts are there
  std::vector<std::string> losses_;
  std::optional<Reference> reference_;
  // Of CMD:
  CountedProcess* current_ = nullptr;
  bool was_looked_at_ = false;             // right before it executes something
  std::unique_ptr<CountedProcess> apart_;  // what it has executed last and is not counted
  ExecutedNotes notes_{"counted", "whose calls are not counted", "nothing of what is counted"};
};

}  // namespace patchbay::cmd
