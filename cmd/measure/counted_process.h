// SPDX-License-Identifier: MIT
//
// One process that counts by histograms of this command, from before the first hit to the last:
//
//   attach, or start CMD    held before main()
//   define, apply           a mistake ends here: main() never ran
//   look …                  the texts of the histograms
//   look_last               those of a program that has ended are in DIR/PID/hist
//   leave                   what was written is taken back from a process that goes on; the
//                           histograms were in an instance of this command's own
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cmd/measure/hist_plan.h"
#include "cmd/measure/hist_sum.h"
#include "cmd/target/apply_request.h"
#include "cmd/target/tool_uses.h"
#include "cmd/target/trace_request.h"
#include "cmd/target/watched_program.h"

namespace patchbay::cmd {

class CountedProcess {
 public:
  CountedProcess() = default;
  ~CountedProcess() { leave(); }
  CountedProcess(const CountedProcess&) = delete;

  // A process that runs. From here on signals end the command by interrupted(), as there is
  // something to take back. 0: the only one that has an agent. `wait_ms`: for another command that
  // sets it up.
  Status attach(int pid, int wait_ms = ToolUses::kMostWaitMs);
  // `quiet`: what the program prints does not disturb our screen. What it executes is followed
  // where it has anything of `wishes`.
  Status start(const std::vector<std::string>& words, bool quiet,
               const std::optional<FollowWishes>& wishes = std::nullopt);
  // A program that one of ours has executed, and that is held before main().
  void adopt(ExecutedProgram& program);
  Status release() { return program_.release(); }  // the program runs

  serve::Client& client() { return *program_.client; }
  TracedChild* child() const { return program_.child.get(); }
  WatchedProgram& program() { return program_; }
  const WatchedProgram& program() const { return program_; }
  int pid() const { return pid_; }
  const std::string& exe() const { return exe_; }

  // Defines one event and returns it as SYSTEM:EVENT. Errors name the text.
  Result<std::string> define(const std::string& event, bool is_call = false);
  // `verbose`: prints what is written.
  Status apply(const HistPlan& plan, bool verbose);
  // The same, with histograms that can be added up to those of other processes.
  Status apply_summable(HistPlan plan, bool verbose);

  // What fails leaves all as it was.
  Status look();
  // At a look where ended() is so: remembers when that began, and what program it is now.
  void note_end();
  // It has ended, or has executed another program.
  bool ended() const { return has_left_ || program_.ended(); }
  // What it has counted at its end; of one that goes on, until now. Returns what is wrong with that
  // as the end of a sentence about the process; mostly nothing.
  std::string look_last();
  // The process has executed another program. The last counts are those of the last look. The same
  // sentence; `was_looked_at`: right before.
  std::string end_by_exec(const std::string& successor, bool was_looked_at);
  void leave();

  // One for each histogram of the plan, as they were at the last look.
  const std::vector<std::string>& texts() const { return texts_; }
  // Leaves empty ones behind.
  std::vector<std::string> take_texts() {
    return std::exchange(texts_, std::vector<std::string>(texts_.size()));
  }
  // As the trigger files have them.
  const std::vector<std::string>& listings() const { return listings_; }
  // Of a plan that was made summable.
  const std::vector<HistSumShape>& shapes() const { return shapes_; }
  // Of each histogram: the types of what it counts by and sums up.
  const std::vector<std::string>& types() const { return types_; }
  // Nothing was counted in any of the tables: sentences that say why.
  std::vector<std::string> why_nothing();

 private:
  // A file of the plan's, or its directory.
  std::string placed(const std::string& path) const {
    return path.starts_with("events/") ? instance_ + path : path;
  }
  Error several_events(const std::string& asked, const std::vector<std::string>& events);
  std::vector<EventRequest> not_hit();
  std::string lost_text();
  void note_shape(const std::string& event);

  WatchedProgram program_;
  int pid_ = 0;
  std::string exe_;
  AppliedRequest defined_;
  std::vector<std::pair<EventRequest, std::string>> asked_;  // with events/SYSTEM/EVENT
  std::unique_ptr<ToolUses> uses_;                           // of a process that goes on
  std::string instance_;  // where its histograms are: "instances/NAME/"; else empty
  HistPlan plan_;
  std::vector<std::string> listings_, texts_, types_;
  std::vector<HistSumShape> shapes_;
  int64_t looked_ms_ = 0, ended_ms_ = 0;
  std::string successor_;  // the program that ours has executed; empty: none is known
  bool has_left_ = false;
};

// The histogram of a file `hist` whose listing is `listing`; empty: it is not there.
std::string hist_of_file(const std::string& text, const std::string& listing);

}  // namespace patchbay::cmd
