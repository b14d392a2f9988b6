// SPDX-License-Identifier: MIT
//
// What an alert does: the flight recorder of the process that it is about becomes a file.
//
//   alert {pid="12", instance="calls"}  ──>  snapshot = 1 in the process
//                                       ──>  patchbay recover DIR/12/[instances/calls/]snapshot
//                                       ──>  alert-TIME-PID.dat, the newest `keep` of them stay
//
// One at a time; of one process no more than one in 10 s. A label `start` has to be that of the
// process: its number may be another's by now. The file is made by a process of its own.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cmd/serve/alert_text.h"
#include "cmd/serve/collector.h"

namespace patchbay::cmd {

class Alerts {
 public:
  // Files are made in `directory`, which is made (0700).
  Alerts(AlertAction action, std::string directory)
      : action_(action), directory_(std::move(directory)) {}
  // How many files were made; the first refusal in *error.
  size_t take(const std::vector<Alert>& alerts, const std::vector<Collector::Agent>& agents,
              std::string* error);

 private:
  Status snapshot(const Collector::Agent& agent, const std::string& instance);
  void remove_old() const;

  const AlertAction action_;
  const std::string directory_;
  std::mutex lock_;
  std::map<std::string, int64_t> taken_ms_;  // by pid and start
};

}  // namespace patchbay::cmd
