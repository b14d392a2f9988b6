// SPDX-License-Identifier: MIT
//
// The processes that `patchbay top` is about: one, a program that is started, or several, whose
// counts are summed:
//
//   process 12  TopProfile ── look ──> its table ─┐
//   process 15  TopProfile ── look ──> its table ─┼─> the sum's table
//   process 17  has ended:  what it had at last  ─┘
//
// Of control groups those that come are taken in by take_in_newcomers().
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cmd/measure/executed_notes.h"
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

class TopProcesses : public ExecListener {
 public:
  explicit TopProcesses(const TopRequest& request);
  ~TopProcesses();
  TopProcesses(const TopProcesses&) = delete;

  // `quiet`: what CMD prints does not disturb our screen. Of several processes those that cannot be
  // profiled are in refused(). An error of several: none of them can be profiled.
  // Of several they count from here on. Signals that come while a process is attached to are kept
  // until deliver_signals().
  Status connect(bool quiet, bool self_time);
  void deliver_signals() {
    for (const auto& member : members_) member->program.attachment.deliver_signals();
  }
  // Counts from 0, from here on. It may be called again. Of several an error is about some: the
  // others count from 0, and those begin at what was seen of them.
  Status start(bool self_time);
  // CMD runs.
  Status release();

  // Takes the counts. A process that has ended keeps what it has left, or that of the look before.
  void look();
  // Recent counts are those from here on.
  void begin_recent();
  void take_in_newcomers();

  // All have ended, and no others can come.
  bool ended() const;
  // Waits for CMD, as TracedChild::wait().
  TracedChild::Event wait(int timeout_ms) {
    return members_.front()->program.wait(timeout_ms, *this);
  }
  int exit_status() { return members_.front()->program.exit_status(); }  // of CMD
  int descriptor() const;       // readable when wait() has something to do; -1: nothing is followed
  TracedChild* child() const {  // CMD; null: processes that ran already
    return members_.empty() ? nullptr : members_.front()->program.child.get();
  }

  struct Member {
    int pid = 0;
    std::string exe;
    WatchedProgram program;
    std::unique_ptr<TopProfile> profile;  // it goes before the program's connection
    TopTable table;
    uint64_t started_ns = 0, looked_ns = 0;
    bool is_silent = false;
    bool has_ended = false, has_left_counts = false;  // those of its end
    double seconds() const { return double(looked_ns - started_ns) / 1e9; }
  };
  const std::vector<std::unique_ptr<Member>>& members() const { return members_; }
  bool is_several() const { return request_.processes.is_several(); }
  // The only one; of CMD the program that it is, or was last.
  const Member& own() const { return *members_.back(); }
  const TopTable& sum() const { return is_several() || child() ? sum_ : members_.front()->table; }
  double seconds() const;  // that all, or the only one, have counted

  const std::vector<TakenProcesses::Refused>& refused() const { return taken_.refused(); }
  // Sentences about processes whose last counts are missing, or old. Each is taken once.
  std::vector<std::string> take_losses() { return std::exchange(losses_, {}); }
  std::string waits_for() const { return taken_.waits_for(); }
  // Sentences about what CMD has executed. Each is taken once.
  std::vector<std::string> take_about_executed();

  // ExecListener:
  void before_exec() override;
  void stays() override { was_looked_at_ = false; }
  void executed(ExecutedProgram program) override;
  bool current_is_gone() const override { return !current_ || current_->program.ended(); }

 private:
  void choose(Member* member) const;
  Status begin(Member* member) const;
  static Status rebase(Member* member);
  Status add(const RunningProcess& process);
  void take_look(Member* member, const Result<std::string>& text);
  void note_end(Member* member);
  void add_loss(const Member& member, const std::string& text);
  static void leave(Member* member);
  void end_current(const std::string& successor);

  const TopRequest& request_;
  TakenProcesses taken_;  // of several
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::string> losses_;
  // Of CMD:
  Member* current_ = nullptr;      // null: it is not profiled
  std::unique_ptr<Member> apart_;  // what it has executed last and is not profiled
  bool was_looked_at_ = false;     // right before it executes something
  TopTable gone_;                  // the sums of what it was, but for the first
  ExecutedNotes notes_{"profiled", "which is not profiled", "none of these functions"};

  TopTable sum_;
  bool self_time_ = false, is_started_ = false;
  uint64_t started_ns_ = 0, looked_ns_ = 0;
};

}  // namespace patchbay::cmd
