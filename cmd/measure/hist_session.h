// SPDX-License-Identifier: MIT
//
// Histograms of a running process, of several, or of a program that is started, from the first hit
// to the last (counted_process.h), as a command shows them:
//
//   in a terminal: shown anew           else: only looked at, should a process be killed
//   Ctrl-C or the end: the last texts
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cmd/measure/counted_processes.h"
#include "cmd/measure/hist_target.h"

namespace patchbay::cmd {

class HistSession {
 public:
  HistSession(std::string command, HistTarget target, CountedProcesses::Prepare prepare)
      : command_(std::move(command)),
        target_(std::move(target)),
        processes_(target_, std::move(prepare)) {}

  // Makes a text for the screen out of the plan's first histogram; for --json an object on a line.
  using Show = std::function<std::string(const HistImage& image)>;
  // Sets up the processes, runs until the end and prints the last of all. Returns the exit status,
  // that of CMD.
  int run(const Show& show);
  // Some process counts already.
  bool is_counting() const { return processes_.is_counting(); }

 private:
  void say_news();  // who is left out, and whose counts are missing
  void watch_quietly();
  void watch_on_screen(const Show& show);
  std::string who() const;
  std::string shown(const Show& show, const CountedProcess* member = nullptr) const;
  std::string on_screen(const Show& show) const;
  std::string result(const Show& show) const;
  std::string several_json(const Show& show) const;
  Status write_result(const std::string& text) const;
  void say(const std::vector<std::string>& sentences) const;
  std::vector<std::string> why_nothing() const;
  int finish(const Show& show);

  const std::string command_;
  const HistTarget target_;
  CountedProcesses processes_;
  size_t nr_said_ = 0;  // of those that are left out
  size_t chosen_ = 0;   // of several: the number of the process that is shown; 0: the sum
};

}  // namespace patchbay::cmd
