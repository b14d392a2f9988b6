// SPDX-License-Identifier: MIT
//
// The programs whose calls `patchbay calls` shows: a running process, or CMD and what it executes
// in its place, one after the other (executed_programs.h):
//
//   sh       CallSession, CallRings, CallWatch ──> lines
//            --- sh executed /usr/bin/ls ---
//   ls       CallSession, CallRings, CallWatch ──> lines
//
// Forked children of sh go on to write to its rings, which are read until there are none.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cmd/measure/call_session.h"
#include "cmd/measure/call_watch.h"
#include "cmd/target/executed_programs.h"
#include "cmd/target/watched_program.h"

namespace patchbay::cmd {

class CallPrograms : public ExecListener {
 public:
  // Both have to live on.
  CallPrograms(const CallTarget& target, const CallLineOptions& options, CallWatch::Write write)
      : target_(target), options_(options), write_(std::move(write)) {}

  // Connects, or starts CMD, and sets it up. From here on CMD runs.
  Status begin();
  // Until the end of the process, or until we are told to end.
  Status run();
  // What there is to say, on standard error. False: some function was never there.
  bool print_notes();
  // Takes back what was set up, waits for CMD. The exit status.
  int end();

  // ExecListener:
  void before_exec() override;
  void executed(ExecutedProgram program) override;
  bool current_is_gone() const override;

 private:
  struct Program {
    std::string exe;
    WatchedProgram own;  // of one that was executed
    std::unique_ptr<CallSession> session;
    std::unique_ptr<CallRings> rings;  // null: it has none of the functions
    std::unique_ptr<CallWatch> watch;
    MappedBuffer buffer;
  };
  WatchedProgram& process_of(Program& program) {
    return &program == first_ ? process_ : program.own;
  }
  void watch(Program* program);
  Status take_events(bool is_end);
  bool wait(int timeout_ms);
  void end_current();
  void collect(Program& program);
  void note_missing(Program& program);
  std::string set_up(ExecutedProgram& program);
  void show(const std::string& line);
  void print_missing(const std::vector<std::string>& never_found) const;

  const CallTarget& target_;
  const CallLineOptions options_;
  const CallWatch::Write write_;
  WatchedProgram process_;
  CallTotals totals_;
  std::vector<std::unique_ptr<Program>> programs_;  // whose rings are read
  Program* current_ = nullptr;                      // null: it cannot be looked at
  const Program* first_ = nullptr;
  std::string exe_;  // of the program that the process is
  Status failed_;    // of a line that could not be written

  uint64_t lost_ = 0, missed_ = 0, unhooked_ = 0;
  bool lost_some_ = false, is_filtered_ = false;
  std::vector<std::string> not_seen_;  // sentences about programs that were executed
  std::map<std::string, std::vector<std::string>> missing_in_;  // of a function: programs
  std::set<std::string> found_;
  std::vector<std::string> failures_, why_nothing_;
  std::map<std::string, size_t> never_came_;  // sentences: of how many programs
  size_t nr_collected_ = 0;
};

}  // namespace patchbay::cmd
