// SPDX-License-Identifier: MIT
//
// Colours of `patchbay report` on a terminal: the thread is dim, the event's name is cyan, a long
// duration of function_graph is yellow or red, lost events are red, a group's head is bold.
//
// Escape sequences are put between the characters of a finished line, so that a line without them
// is the plain one. Texts of programs stand in it with their control characters escaped.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "event/event_call.h"

namespace patchbay::cmd {

inline constexpr std::string_view kDim = "\033[2m", kCyan = "\033[36m", kYellow = "\033[33m",
                                  kRed = "\033[31m", kBold = "\033[1m", kPlain = "\033[0m";

// All of it, but for the newline at its end.
std::string in_color(std::string_view color, std::string_view text);

class ReportColors {
 public:
  explicit ReportColors(const std::vector<EventCall>& events);
  // A whole line: its text begins at `text`, the column of the thread is `task` characters wide.
  void append_line(std::string* out, std::string_view line, size_t task, size_t text,
                   std::span<const uint8_t> record) const;
  // What stands behind the time.
  void append_text(std::string* out, std::string_view text, std::span<const uint8_t> record) const;

 private:
  struct Event {
    std::string name;              // as lines have it, escaped
    bool has_place_first = false;  // "func: text": printk and markers
    bool has_duration = false;
  };
  std::vector<Event> events_;
  std::vector<uint32_t> by_id_ = std::vector<uint32_t>(65536, 0);  // index + 1
};

}  // namespace patchbay::cmd
