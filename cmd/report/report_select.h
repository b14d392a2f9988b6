// SPDX-License-Identifier: MIT
//
// Which events `patchbay report` prints: -e and -f as `patchbay export` has them, times, CPUs, and
// whose they are (export/export_who.h). All that is said has to be true of an event. The record of
// a stack belongs to the event before it on its thread, and is printed with that.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "cmd/common/options.h"
#include "cmd/common/trace_input.h"
#include "cmd/common/input_people.h"
#include "cmd/common/who_options.h"
#include "event/event_call.h"
#include "export/export_choice.h"
#include "export/export_source.h"
#include "output/merge.h"

namespace patchbay::cmd {

struct ReportChoice {
  ExportChoice events;  // with the times, and whose they are
  std::vector<uint64_t> cpus;

  bool has_any() const { return has_events() || events.who.has_any(); }
  bool has_events() const {
    return has_times() || !events.events.empty() || !events.filter.empty() || !cpus.empty();
  }
  bool has_times() const { return events.from_ns != 0 || events.until_ns != ~uint64_t{0}; }
};

// The options, whose ids begin at `kFirst`; and what one of them does: null when it is right, else
// the sentence about it. An id that is none of these does nothing.
namespace report_choice {
constexpr int kFrom = kFirstOptionId + 100, kUntil = kFrom + 1, kCpu = kFrom + 2;
const char* take_option(int id, const char* value, ReportChoice* choice);
}  // namespace report_choice

// "1.5" (seconds), "+20ms", "+300us": exact, as a decimal number of seconds may not be in a double.
bool parse_when(std::string_view text, uint64_t* ns, bool* is_relative);
// The same for --from and --until: null when it is right, else the sentence about it.
const char* take_time(const char* value, uint64_t* ns, bool* is_relative);

class ReportSelection {
 public:
  // `first_ns`: where relative times begin. Fails where `ExportSelection` does.
  static Result<std::unique_ptr<ReportSelection>> make(const ReportChoice& choice,
                                                       const TraceInput& input,
                                                       const std::vector<EventCall>& events,
                                                       uint64_t first_ns);
  // To be asked of each event, in their order.
  bool wants(const MergedEvent& event);

 private:
  explicit ReportSelection(const ReportChoice& choice)
      : choice_(choice), who_(choice.events.who, &people_.finder) {}
  bool wants_record(const MergedEvent& event, uint16_t id, int32_t tid);

  const ReportChoice choice_;
  uint64_t from_ns_ = 0, until_ns_ = ~uint64_t{0};
  std::vector<std::unique_ptr<ExportSchema>> schemas_;
  std::vector<const ExportSchema*> by_id_ = std::vector<const ExportSchema*>(65536, nullptr);
  ExportSelection selection_;
  InputPeople people_;
  WhoSelection who_;
  std::unordered_map<int32_t, bool> was_wanted_;  // the last event of each thread, for its stack
};

}  // namespace patchbay::cmd
