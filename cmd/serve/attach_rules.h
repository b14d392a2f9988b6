// SPDX-License-Identifier: MIT
//
// The sections [attach] of patchbay.conf(5): which processes get which events and histograms as
// soon as they are there.
//
//   [attach]
//   service = nginx.service                      which processes: at least one of these three,
//   exe = /usr/sbin/php-fpm*                     each of which may stand there several times
//   cgroup = system.slice/shop.slice
//   event = malloc(u64 size)                     as -e of patchbay start
//   filter = size > 4096                         of the event before it
//   histogram = malloc(u64 size) keys=size.log2  as `patchbay hist` has it
//
// A process gets the agent, what its rules say, and keeps both: it is as if somebody had said
// `patchbay attach` and `patchbay start`. A value with .quantiles is written as .counters, which
// `serve` shows as a histogram. Children that record with their parent are left to it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/common/daemon_conf.h"
#include "cmd/target/trace_request.h"

namespace patchbay::cmd {

struct AttachRule {
  std::string place;  // "FILE:LINE"
  std::vector<std::string> services, cgroups, exes;
  TraceRequest request;                 // its events
  std::vector<std::string> histograms;  // "EVENT keys=…"
};
// EINVAL: the first mistake, with its line and a caret.
Result<std::vector<AttachRule>> attach_rules(const DaemonConf& conf);

class RuledProcesses {
 public:
  RuledProcesses(std::vector<AttachRule> rules, std::string runtime)
      : rules_(std::move(rules)), runtime_(std::move(runtime)) {}
  // Who has come since, and what failed and may go by. What is refused is said once, on standard
  // error.
  void look();

 private:
  struct Known {
    std::string start, image;
    std::set<size_t> met;         // rules that are about it
    std::vector<size_t> pending;  // those of them that are to be applied
    int64_t next_try_ms = 0, pause_ms = 1000;
    int tries = 0;
    bool is_forked = false;  // it records with its parent
  };
  std::vector<int> processes_of(const AttachRule& rule,
                                const std::map<int, std::string>& exes) const;
  void meet(int pid, size_t rule);
  void apply(int pid, Known* known);
  Status apply_rules(int pid, const std::vector<size_t>& rules);

  const std::vector<AttachRule> rules_;
  const std::string runtime_;
  std::map<int, Known> known_;
};

}  // namespace patchbay::cmd
