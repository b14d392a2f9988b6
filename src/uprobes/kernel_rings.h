// SPDX-License-Identifier: MIT
//
// The rings of an instance of the kernel's tracefs: of which threads they get events, their pages
// while they fill, and what was lost.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ring_buffer/buffer_file.h"
#include "uprobes/kernel_tracefs.h"

namespace patchbay {

class KernelRings {
 public:
  struct Options {
    std::string clock = "mono";
    uint64_t buffer_kb = 0;  // of one CPU; 0: as it is
    bool overwrite = true;
  };
  struct Sink {
    std::function<void(uint32_t cpu, const EventView&)> record;
    std::function<void(uint32_t cpu, uint64_t events)> lost;  // before the record that comes next
  };

  // `instance` has to outlive it. Nothing is recorded until start().
  static Result<std::unique_ptr<KernelRings>> open(const KernelInstance& instance,
                                                   const Options& options, Sink sink);

  // Only these threads are recorded; with `children`, also what they start.
  Status follow(const std::vector<pid_t>& threads, bool children);
  // All threads of a process, also those that come while they are asked for, but for those that
  // are called `except`.
  Status follow_process(pid_t pid, std::string_view except = {});
  Status start() { return instance_.files().write("tracing_on", "1"); }
  void stop() { (void)instance_.files().write("tracing_on", "0"); }

  // One turn over all CPUs. How full the fullest ring was, in percent.
  unsigned drain();
  // What the rings still hold, after stop(). Then they are closed, so that the instance can go.
  void drain_rest();

  uint32_t nr_cpus() const { return nr_cpus_; }  // the highest number, and one
  // What the kernel counts as lost, by CPU.
  std::vector<uint64_t> losses() const;

 private:
  struct Cpu {
    uint32_t number = 0;
    UniqueFd pipe;
  };
  KernelRings(const KernelInstance& instance, const Options& options, Sink sink)
      : instance_(instance), options_(options), sink_(std::move(sink)) {}
  Status set_up();
  uint32_t drain_cpu(const Cpu& cpu, uint32_t limit);

  const KernelInstance& instance_;
  const Options options_;
  const Sink sink_;
  std::vector<Cpu> cpus_;
  uint32_t nr_cpus_ = 0;
  PageImage page_;
};

// The names of threads, asked for while they live.
class KernelThreads {
 public:
  void note(uint32_t tid);
  // Lines "tid comm". `top` has the kernel's list, for those that ended before we could ask.
  std::string command_lines(const TracefsDirectory& top) const;
  // Processes beside `pid` were seen.
  bool has_others(pid_t pid) const { return processes_.size() > processes_.count(uint32_t(pid)); }
  const std::map<uint32_t, std::string>& names() const { return comms_; }

 private:
  std::map<uint32_t, std::string> comms_;
  std::set<uint32_t> processes_;
};

// The kernel's set_event_pid takes the numbers of this namespace only.
bool is_first_pid_namespace();

// "entries: 12" of a stats file; 0 when it is not there.
uint64_t stats_number(std::string_view stats, std::string_view name);

}  // namespace patchbay
