// SPDX-License-Identifier: MIT
// The events of the system `ftrace`: records of tracers and markers (docs/files.md). They
// are always there, cannot be switched, and have fixed ids (abi/ftrace_records.h).
#pragma once

#include <vector>

#include "event/event_call.h"

namespace patchbay {

std::vector<EventCall> ftrace_events();

}  // namespace patchbay
