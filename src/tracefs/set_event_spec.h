// SPDX-License-Identifier: MIT
//
// One word of set_event (spec: ftrace.md 2.2):
//   ['!'] ( name | system:event | system: | system:* | *:* | *: | :event | *:event )
#pragma once

#include <string>
#include <string_view>

namespace patchbay::tracefs {

struct EventSpec {
  bool on = true;
  std::string match;   // a bare name: a system, or an event of any system; empty otherwise
  std::string system;  // empty: any
  std::string event;   // empty: any

  // Exact: the only wild card is a lone `*`, which parse_event_spec has made empty.
  bool matches(std::string_view system_name, std::string_view event_name) const;
};

EventSpec parse_event_spec(std::string_view word);

}  // namespace patchbay::tracefs
