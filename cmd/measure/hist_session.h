// SPDX-License-Identifier: MIT
//
// Histograms of a running process, or of a program that is started, from the first hit to the last:
//
//   connect, or start CMD, held before main()
//   define events, write the plan       a mistake ends here: main() never ran
//   let CMD run
//   in a terminal: shown anew           else: only looked at, should CMD be killed
//   Ctrl-C or the end: the last texts   those of a program that has ended are in DIR/PID/hist
//   take back what was written          of a process that goes on; the histograms were in an
//                                       instance of this command's own
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cmd/common/tracefs_command.h"
#include "cmd/measure/hist_plan.h"
#include "cmd/target/apply_request.h"
#include "cmd/target/tool_uses.h"
#include "cmd/target/trace_request.h"
#include "cmd/target/watched_program.h"

namespace patchbay::cmd {

inline constexpr Option kDelayOption = {
    .letter = 'd',
    .name = "delay",
    .argument = "SECS",
    .help = "waits SECS between two looks in a terminal; the default is 1"};
inline constexpr Option kVerboseOption = {
    .letter = 'v',
    .name = "verbose",
    .help = "prints what is written to the tracefs of the process"};
inline constexpr int kHistJson = kFirstOptionId + 20;
inline constexpr Option kHistJsonOption = {
    .name = "json",
    .help = "prints the result as one JSON object on a line; nothing is shown before the end",
    .id = kHistJson};
inline constexpr Option kHistOutputOption = {
    .letter = 'o',
    .name = "output",
    .argument = "FILE",
    .help = "writes the result to FILE, apart from what CMD prints"};

struct HistTarget {
  int pid = 0;
  std::vector<std::string> words;  // CMD
  double delay = 1;                // seconds between two looks, in a terminal
  bool verbose = false;            // prints the plan
  bool json = false;               // the result is for programs
  std::string output;              // the file of the result; empty: standard output

  // Takes the program's words, behind `--`. Returns the number of words before it; argc when there
  // is no `--`.
  int take_words(int argc, char** argv);
  // -p, -d, -v, -o or --json. Null when it is right, else the sentence about it.
  const char* take_option(int id, const std::string& value);
};

class HistSession {
 public:
  HistSession(std::string command, HistTarget target)
      : command_(std::move(command)), target_(std::move(target)) {}
  ~HistSession();

  Status connect();
  serve::Client& client() { return *program_.client; }
  // Defines one event and returns it as SYSTEM:EVENT. Errors name the text.
  Result<std::string> define(const std::string& event);
  Status apply(const HistPlan& plan);

  // Makes a text for the screen out of those of the plan's histograms. Empty texts: there is
  // nothing yet.
  using Show = std::function<std::string(const std::vector<std::string>& texts)>;
  // Runs until the end and prints the last of all. Returns the exit status, that of CMD.
  int run(const Show& show);

 private:
  // A file of the plan's, or its directory.
  std::string placed(const std::string& path) const {
    return path.starts_with("events/") ? instance_ + path : path;
  }
  void look();
  void watch_quietly();
  void watch_on_screen(const Show& show);
  void look_last();
  Status write_result(const std::string& text) const;
  std::vector<EventRequest> not_hit();
  void say_why_nothing();
  void undo();

  const std::string command_;
  const HistTarget target_;
  bool on_screen_ = false;
  WatchedProgram program_;
  AppliedRequest defined_;
  std::vector<std::pair<EventRequest, std::string>> asked_;  // with events/SYSTEM/EVENT
  std::unique_ptr<ToolUses> uses_;                           // of a process that goes on
  std::string instance_;  // where its histograms are: "instances/NAME/"; else empty
  HistPlan plan_;
  std::vector<std::string> listings_;  // of the plan's histograms, as their trigger files have them
  std::vector<std::string> texts_;     // at the last look
  int64_t looked_ms_ = 0;
};

// The histogram of a file `hist` whose listing is `listing`; empty: it is not there.
std::string hist_of_file(const std::string& text, const std::string& listing);

}  // namespace patchbay::cmd
