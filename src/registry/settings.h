// SPDX-License-Identifier: MIT
//
// The switches, sizes and options of instances (docs/files.md, "Buffers", "Options"), and the few
// numbers that all instances share. Registry::settings() hands it out. Under the agent's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "registry/registry.h"

namespace patchbay {

class Settings {
 public:
  explicit Settings(Registry::Impl& core) : core_(core) {}

  Status set_tracing_on(TraceArray& array, bool on);
  // Option pause-on-trace: nothing is recorded while `trace` is open for reading.
  Status set_paused(TraceArray& array, bool paused);
  // EINVAL for an option that the instance does not have.
  Status set_option(TraceArray& array, TraceOption option, bool on);
  Status set_clock(TraceArray& array, TraceClock clock);  // clears
  Status set_cpumask(TraceArray& array, const std::vector<bool>& cpus);

  // --- size. EBUSY while `trace` or `snapshot` is open for reading.
  Status resize(TraceArray& array, std::optional<uint32_t> cpu, uint64_t kb);  // EINVAL, ENOMEM
  Status set_subbuf_size(TraceArray& array, uint64_t kb);
  // free_buffer is closed: the rings shrink to the least; with disable_on_free recording stops.
  void free_buffer(TraceArray& array);
  void clear(TraceArray& array, std::optional<uint32_t> cpu = {});

  // --- of all instances
  // tracing_thresh, microseconds: tracers of durations show only what took longer; 0: everything.
  uint64_t tracing_thresh() const { return tracing_thresh_us_; }
  void set_tracing_thresh(uint64_t us) { tracing_thresh_us_ = us; }
  uint32_t saved_cmdlines_size() const { return saved_cmdlines_size_; }
  Status set_saved_cmdlines_size(uint64_t slots);

 private:
  Status move_printk_dest(TraceArray& array, bool on);
  Status apply_option(TraceArray& array, TraceOption option, bool on);

  Registry::Impl& core_;
  uint64_t tracing_thresh_us_ = 0;
  uint32_t saved_cmdlines_size_ = 128;
};

}  // namespace patchbay
