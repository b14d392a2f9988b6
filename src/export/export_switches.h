// SPDX-License-Identifier: MIT
//
// When threads come back to a CPU, as the events of a recording go by: the sched:sched_switch that
// brings a thread has since when it was off. What was lost in between makes none.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "event/sched_switch.h"
#include "export/export_event.h"

namespace patchbay {

class ExportSwitches {
 public:
  void define(uint32_t input, const std::vector<EventCall>& events) {
    if (inputs_.size() <= input) inputs_.resize(input + 1);
    inputs_[input].reader = SchedSwitchReader::among(events);
  }
  // A record of an input, in order of time. Null: it brings no thread that was seen to go. Valid
  // until the next call.
  using ThreadOf = std::function<const ExportThread*(int32_t tid)>;
  const ExportOffCpu* see(uint32_t input, uint64_t ns, std::span<const uint8_t> untrusted_record,
                          const ThreadOf& thread_of);
  // Events are missing: who was off may have been back.
  void lose(uint32_t input) { inputs_[input].off.clear(); }

 private:
  struct Off {
    uint64_t ns = 0, state = 0;
  };
  struct Input {
    std::optional<SchedSwitchReader> reader;
    std::unordered_map<int32_t, Off> off;  // by thread id
  };
  std::vector<Input> inputs_;
  ExportOffCpu found_;
};

}  // namespace patchbay
