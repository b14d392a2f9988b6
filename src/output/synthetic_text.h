// SPDX-License-Identifier: MIT
//
// The text of synthetic events (docs/files.md). The kernel's own printer follows the fields,
// not the print fmt, which says the same in another form:
//
//   print fmt   "a=%llu, s=%s, st=%s", REC->a, __get_str(s), __get_stacktrace(st)
//   text        a=1 s=text st=STACK:
//               => main+0x10/0x80
#pragma once

#include <optional>

#include "event/event_call.h"

namespace patchbay {

// The event with a print fmt that says what the printer shows; `verbose`: with each conversion in
// front of its field. None: no synthetic event, or not in the form of one.
std::optional<EventCall> synthetic_text(const EventCall& call, bool verbose);

}  // namespace patchbay
