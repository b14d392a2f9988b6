// SPDX-License-Identifier: MIT
//
// The place of a file or a directory in the tree, by name: the instance or event may go away while
// the file is open. And the state that all files of one tree share.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "output/address_names.h"
#include "output/trace_clock_convert.h"
#include "output/trace_text.h"
#include "tracefs/root.h"
#include "tracefs/writer.h"

namespace patchbay::tracefs {

// Shared by all files of a tree; the root owns it.
class TreeState {
 public:
  explicit TreeState(const TreeContext& context);
  const TreeContext& context;
  Registry& registry;

  // What the printers of all open files know. Current when the call returns.
  const TraceTextSources& text_sources();
  // The (TSC, time) pairs that were taken, in order of time: a raw clock is converted by them.
  std::vector<abi::ClockPair> clock_pairs() const;
  // From the raw clock of records to `clock`. The same for all readers, so that the CPUs of one
  // recording agree, and what was shown once is shown so again.
  TraceClockConvert clock(TraceClock clock);
  // The threads whose names are known, in the order in which they became known; a thread that was
  // renamed stands there again.
  std::vector<abi::CommEntry> comms() const;
  // The formats and texts that records of printk name.
  std::vector<BufferFile::Text> printk_texts() const;

  // --- events by system, made anew when one came or went. Where none has an `enable`, that of
  // function events is there, empty: no kernel is without systems, and libtracefs takes a tree that
  // has none for no tree at all.
  bool has_system(const TraceArray& array, std::string_view system);
  std::vector<std::string> systems(const TraceArray& array);
  const std::vector<LiveEvent*>& events_of(std::string_view system);

  // tracing_max_latency of instances, by their serial: nanoseconds. No tracer here changes it.
  std::unordered_map<uint64_t, uint64_t> max_latency_ns;
  // How many open `trace` files have paused an instance (option pause-on-trace).
  std::unordered_map<const TraceArray*, uint32_t> pausing;
  WriterNames writer_names;

 private:
  struct StringHash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  void index_events();
  std::vector<const EventCall*> all_calls() const;

  uint64_t indexed_ = ~uint64_t{0};  // Registry::generation() of by_system_
  std::unordered_map<std::string, std::vector<LiveEvent*>, StringHash, std::equal_to<>> by_system_;
  AddressNames names_;
  PrintkTexts printk_;
  TraceTextSources sources_;
  void fit_curve();
  std::shared_ptr<ClockCurve> curve_ = std::make_shared<ClockCurve>();
  std::array<uint64_t, kTraceClocks.size()> clock_offsets_{};
  uint64_t fit_again_ns_ = 0;  // CLOCK_MONOTONIC from which curve_ is too old
};

struct Place {
  TreeState* tree = nullptr;
  std::string array;   // an instance; "" is the top one
  int32_t cpu = -1;    // of per_cpu/cpuN
  std::string system;  // of events/SYSTEM
  // An event, by its object and its id: that both still belong together says that it is there.
  const LiveEvent* event = nullptr;
  uint16_t event_id = 0;
  uint8_t option = 0;  // of options/NAME: index into kTraceOptions

  Registry& registry() const { return tree->registry; }
  bool is_top() const { return array.empty(); }
  std::optional<uint32_t> one_cpu() const {
    return cpu < 0 ? std::optional<uint32_t>() : uint32_t(cpu);
  }
  // ENODEV when it is gone.
  Result<TraceArray*> find_array() const;
  Result<LiveEvent*> find_event(const TraceArray& array) const;
};

// Whether the instance has the system: a program may restrict its instance to some
// (docs/files.md, "Instances of the program").
bool shows_system(const TraceArray& array, std::string_view system);

}  // namespace patchbay::tracefs
