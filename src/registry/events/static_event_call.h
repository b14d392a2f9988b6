// SPDX-License-Identifier: MIT
//
// A static event as readers see it: what a program laid down (patchbay/static_event_abi.h) becomes
// the fields and the print format of a format file.
#pragma once

#include <patchbay/static_event_abi.h>

#include <string>

#include "base/result.h"
#include "event/event_call.h"

namespace patchbay {

// EINVAL: the description contradicts itself (it was not made by trace_event.h).
Result<EventCall> static_event_call(const patchbay_event& event);

// Adjacent literals of the format joined ("a=%" "lu"), enumerators outside of texts replaced.
std::string static_print_fmt(const patchbay_event& event);

}  // namespace patchbay
