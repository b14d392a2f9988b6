// SPDX-License-Identifier: MIT
//
// One word of set_event (docs/files.md, "set_event"):
//   ['!'] ( name | system:event | system: | system:* | *:* | *: | :event | *:event ) [ :mod:MODULE
//   ]
// and `:mod:MODULE` alone. A module is a shared object by name.
#pragma once

#include <string>
#include <string_view>

#include "registry/live_event.h"

namespace patchbay {

struct EventSpec {
  bool on = true;
  bool empty = false;  // nothing behind the `!`: means no event
  std::string match;   // a bare name: a system, or an event of any system; empty otherwise
  std::string system;  // empty: any
  std::string event;   // empty: any
  std::string module;  // with '_' for '-'; empty: wherever the event comes from

  // Exact: the only wild card is a lone `*`, which parse_event_spec has made empty.
  bool matches(const LiveEvent& event) const;
  // The line of set_event for a request that waits for its module: `sched:*:mod:libfoo`.
  std::string request() const;
};

EventSpec parse_event_spec(std::string_view word);

// "libfoo", "libfoo.so" and "libfoo.so.1" are the module "libfoo.so.1"; '-' is '_'.
bool is_module(std::string_view wanted, std::string_view file_name);

}  // namespace patchbay
