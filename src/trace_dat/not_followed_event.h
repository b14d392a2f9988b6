// SPDX-License-Identifier: MIT
//
// What was executed without being recorded, as an event of the recording:
// patchbay:exec_not_followed with the fields `path` and `reason`, of the thread that executed it,
// at that time and on that CPU. So it stands among the program's own events in every program that
// reads the file.
#pragma once

#include <cstdint>
#include <vector>

#include "event/event_call.h"
#include "trace_dat/process_images.h"

namespace patchbay {

EventCall not_followed_event();
// Its record; `id` is the event's in the file.
std::vector<uint8_t> not_followed_record(const NotFollowed& what, uint16_t id);

}  // namespace patchbay
