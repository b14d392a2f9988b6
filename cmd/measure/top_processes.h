// SPDX-License-Identifier: MIT
//
// The processes that `patchbay top` is about: one, a program that is started, or several, whose
// counts are summed:
//
//   process 12  TopProfile ── look ──> its table ─┐
//   process 15  TopProfile ── look ──> its table ─┼─> the sum's table
//   process 17  has ended:  what it had at last  ─┘
//
// Of control groups those that come are taken in at the next look.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/measure/top_profile.h"
#include "cmd/measure/top_table.h"
#include "cmd/target/process_choice.h"
#include "cmd/target/taken_processes.h"
#include "cmd/target/watched_program.h"

namespace patchbay::cmd {

struct TopRequest {
  ProcessChoice processes;
  std::vector<std::string> words;  // CMD, when no process is named
  std::vector<std::string> functions, not_functions;
};

class TopProcesses {
 public:
  explicit TopProcesses(const TopRequest& request);

  // `quiet`: what CMD prints does not disturb our screen. Of several processes those that cannot be
  // profiled are in refused(). An error of several: none of them can be profiled.
  // Of several they count from here on. Signals that come while a process is attached to are kept
  // until deliver_signals().
  Status connect(bool quiet, bool self_time);
  void deliver_signals() {
    for (const auto& member : members_) member->program.attachment.deliver_signals();
  }
  // Counts from 0, from here on. It may be called again.
  Status start(bool self_time);
  // CMD runs.
  Status release();

  // Takes the counts. `again`: recent ones go on to begin where they did. A process that has ended
  // keeps those of the look before. False: all have ended.
  bool look(bool again);
  // After the end of CMD. False when it has left nothing: the counts are those of the look before.
  bool look_back(bool again);

  // All have ended, and no others can come.
  bool ended();
  TracedChild* child() const {  // CMD; null: processes that ran already
    return members_.empty() ? nullptr : members_.front()->program.child.get();
  }

  struct Member {
    std::string exe;
    WatchedProgram program;
    std::unique_ptr<TopProfile> profile;  // it goes before the program's connection
    TopTable table;
    bool has_names = false, has_ended = false;
  };
  const std::vector<std::unique_ptr<Member>>& members() const { return members_; }
  bool is_several() const { return request_.processes.is_several(); }
  const TopTable& sum() const { return is_several() ? sum_ : members_.front()->table; }
  uint64_t started_ns() const { return started_ns_; }
  uint64_t looked_ns() const { return looked_ns_; }

  const std::vector<TakenProcesses::Refused>& refused() const { return taken_.refused(); }
  std::string waits_for() const { return taken_.waits_for(); }

 private:
  void choose(Member* member) const;
  Status begin(Member* member) const;
  Status add(const RunningProcess& process);
  void sum_up(bool again);

  const TopRequest& request_;
  TakenProcesses taken_;  // of several
  std::vector<std::unique_ptr<Member>> members_;
  TopTable sum_;
  bool self_time_ = false, is_started_ = false;
  uint64_t started_ns_ = 0, looked_ns_ = 0;
};

}  // namespace patchbay::cmd
