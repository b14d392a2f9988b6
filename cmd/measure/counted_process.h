// SPDX-License-Identifier: MIT
//
// One process that counts by histograms of this command, from before the first hit to the last:
//
//   attach, or start CMD    held before main()
//   define, apply           a mistake ends here: main() never ran
//   look …                  the images of the histograms
//   look_last               those of a program that has ended are in DIR/PID/hist
//   leave                   what was written is taken back from a process that goes on; the
//                           histograms were in an instance of this command's own
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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
  const std::vector<HistImagePtr>& images() const { return images_; }
  // Leaves null ones behind.
  std::vector<HistImagePtr> take_images() {
    return std::exchange(images_, std::vector<HistImagePtr>(images_.size()));
  }
  // The same when nothing was counted yet: what their columns are.
  const std::vector<HistImagePtr>& empty_images() const { return empty_images_; }
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
  Status read_images(std::vector<HistImagePtr>* images);

  WatchedProgram program_;
  int pid_ = 0;
  std::string exe_;
  AppliedRequest defined_;
  std::vector<std::pair<EventRequest, std::string>> asked_;  // with events/SYSTEM/EVENT
  std::unique_ptr<ToolUses> uses_;                           // of a process that goes on
  std::string instance_;  // where its histograms are: "instances/NAME/"; else empty
  HistPlan plan_;
  std::vector<std::string> listings_;  // as the trigger files have them
  std::vector<HistImagePtr> images_, empty_images_;
  int64_t looked_ms_ = 0, ended_ms_ = 0;
  std::string successor_;  // the program that ours has executed; empty: none is known
  bool has_left_ = false;
};

// The images of a file, which is read once for all of them. None: it is no such file.
class HistFile {
 public:
  HistFile() = default;
  explicit HistFile(std::string_view untrusted);
  // The one whose definition is `listing`; null: it is not there.
  HistImagePtr of(const std::string& listing) const;

 private:
  std::vector<HistImagePtr> images_;
};
// What a histogram's file has at most.
inline constexpr serve::Most kMostImage = {serve::kMostTable.bytes, SIZE_MAX};

}  // namespace patchbay::cmd
