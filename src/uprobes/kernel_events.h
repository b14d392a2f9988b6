// SPDX-License-Identifier: MIT
//
// The kernel's own events beside a recording: an instance of its tracefs records them, and their
// records become pages of a buffer of the same trace.dat.
//
//   sched:sched_switch (372) --ring of the CPU--> trace_pipe_raw --id 65535--> RecordPages --> sink
//
// Two numberings meet in the file, the kernel's and the agent's. The agent counts up from 512, so
// the kernel's events are numbered down from 65535.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "abi/trace_dat_abi.h"
#include "base/result.h"
#include "trace_dat/metadata.h"
#include "trace_dat/trace_dat_write.h"
#include "uprobes/kernel_rings.h"
#include "uprobes/kernel_tracefs.h"
#include "trace_dat/record_pages.h"

namespace patchbay {

// The id of its ftrace:print, the first of its events, which tells readers that the last buffer of
// a file is the kernel's.
inline constexpr uint16_t kKernelPrintId = abi::kDatKernelPrintId;
inline constexpr const char* kKernelBufferName = "kernel";  // of their buffer in a trace.dat

struct KernelEventRequest {
  std::string text;    // "sched:sched_switch", "block:*", "sched", "sched_switch"
  std::string filter;  // as the kernel's file `filter` takes it
};

// The names "SYSTEM:EVENT" of `all` that a request means. It may be a glob, and lack a half.
std::vector<std::string> kernel_events_of(std::string_view request,
                                          const std::vector<std::string>& all);

// Lines "%016x t name\t[module]" of the text of /proc/kallsyms for the functions of these
// addresses, ascending, each with a line that ends it (docs/trace_dat.md, "Names").
std::string kernel_functions(std::string_view kallsyms, const std::set<uint64_t>& addresses);

class KernelEvents {
 public:
  struct Event {
    std::string system, name, format;  // its format with our number
    uint16_t kernel_id = 0, id = 0;
    uint64_t records = 0;
    std::vector<uint32_t> addresses;  // offsets of fields with addresses of the kernel's code
  };
  struct Counts {
    uint64_t events = 0;  // that the sink got
    uint64_t lost = 0;    // the buffer was full
  };
  using Sink = std::function<void(uint32_t cpu, const PageImage&)>;

  // Makes the instance and looks for the events. An error names what is missing: rights, or an
  // event, with others of about that name.
  static Result<std::unique_ptr<KernelEvents>> open(
      const std::vector<KernelEventRequest>& requests);

  uint32_t nr_cpus() const { return nr_cpus_; }  // the highest number, and one
  // `ticks`: the recording's times are ticks of the TSC, else nanoseconds of CLOCK_MONOTONIC; the
  // kernel's are the same. `page_size`: of the pages that the sink gets.
  Status set_up(bool ticks, uint64_t buffer_kb, bool overwrite, uint32_t page_size, Sink sink);
  KernelRings& rings() { return *rings_; }
  Status start();
  void stop();
  unsigned drain() { return rings_->drain(); }
  // Takes the rest and removes the instance.
  Status finish();

  const std::vector<Event>& events() const { return events_; }
  const std::vector<Counts>& counts() const { return counts_; }  // by CPU
  uint64_t nr_events() const;
  uint64_t nr_lost() const;
  uint16_t lowest_id() const { return events_.back().id; }
  // What decodes the pages: formats, names of threads and of the kernel's functions.
  void add_to(TraceDatMetadata* metadata) const;

 private:
  explicit KernelEvents(std::unique_ptr<KernelInstance> instance)
      : instance_(std::move(instance)) {}
  Status choose(const std::vector<KernelEventRequest>& requests);
  Status add(const std::string& name);
  Status set_filter(const KernelEventRequest& request, const std::string& name);
  void take_record(uint32_t cpu, const EventView& view);

  std::unique_ptr<KernelInstance> instance_;
  uint32_t nr_cpus_ = 0;
  std::vector<Event> events_;
  std::unordered_map<uint16_t, size_t> by_kernel_id_;
  std::unique_ptr<KernelRings> rings_;
  std::vector<std::unique_ptr<RecordPages>> pages_;  // by CPU
  std::vector<Counts> counts_;
  KernelThreads threads_;
  std::set<uint64_t> addresses_;
  std::string command_lines_, printk_formats_;  // as they were at the end
  std::vector<uint8_t> record_;
};

}  // namespace patchbay
