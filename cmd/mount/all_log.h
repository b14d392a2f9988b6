// SPDX-License-Identifier: MIT
//
// What went wrong in some processes of a mount of all: the first part of DIR/all/error_log. It has
// the form of the kernel's error_log, and a line for each process:
//
//   [  100.000000] kprobe_events: error: 1 of 3 processes has refused
//     Command: p:x work
//     4711 nginx: Device or resource busy
//     4712 nginx: has taken it
//     4713 python3: has no such file, event or function
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"

namespace patchbay::cmd {

class AllLog {
 public:
  static constexpr size_t kMostEntries = 8;  // as in the kernel's
  struct Command {
    std::string path, text;
  };
  struct Answer {
    int pid = 0;
    std::string name;
    Status status;
    bool passed_over = false;  // it lacks what is named, and others have it
  };
  // Appends an entry, and drops the oldest where there are too many. Returns it.
  std::string add(const Command& command, const std::vector<Answer>& answers);
  // An entry about one process.
  std::string add(const std::string& place, const std::string& sentence);
  void clear();
  std::string text();

 private:
  std::string keep(std::string entry);

  std::mutex mutex_;
  std::deque<std::string> entries_;
};

// Whether it means that the process has no such file or event.
bool lacks_it(const Error& error);

}  // namespace patchbay::cmd
