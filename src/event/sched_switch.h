// SPDX-License-Identifier: MIT
//
// The records of the kernel's sched:sched_switch, by the format that the recording has of it: which
// thread goes, in what state, and which comes. Letters of states are those of the kernel that wrote
// the format; `R+` is a thread that would have gone on (it was preempted).
//
//   prev_comm=work prev_pid=4711 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 …
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "event/event_call.h"

namespace patchbay {

struct SchedSwitch {
  int32_t prev_tid = 0, next_tid = 0;  // 0: the idle thread of the CPU
  uint64_t prev_state = 0;             // bits; 0: it was running
  bool prev_ended = false;             // it exits: nothing comes back
};

class SchedSwitchReader {
 public:
  // None: the event is another one, or lacks a field that is needed.
  static std::optional<SchedSwitchReader> of(const EventCall& event);
  // That of a recording's events; none where it has no sched:sched_switch.
  static std::optional<SchedSwitchReader> among(const std::vector<EventCall>& events);

  uint16_t id() const { return id_; }
  // False: it is another event's record, or is cut.
  bool read(std::span<const uint8_t> untrusted_record, SchedSwitch* out) const;
  // "S", "D", "R", "R+", "T", "S|D": as the kernel's print fmt says it.
  std::string state_text(uint64_t prev_state) const;

 private:
  struct Field {
    uint32_t offset = 0, size = 0;
  };
  struct Letter {
    uint64_t bits = 0;
    std::string text;
  };
  void take_letters(std::string_view untrusted_print_fmt);

  uint16_t id_ = 0;
  Field prev_pid_, prev_state_, next_pid_;
  std::vector<Letter> letters_;
  uint64_t preempted_ = 0;  // the bit of "+"
  uint64_t ended_ = 0;      // those of X and Z
};

}  // namespace patchbay
