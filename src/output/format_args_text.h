// SPDX-License-Identifier: MIT
//
// What a function event records for `...` (fetch/format_args.h), as a person reads it: its
// floating-point numbers in decimal digits.
//
//   "abc", 5, 0x1.ap+1        "abc", 5, 3.25
//
// Everything else stays as it is. The bytes are foreign: any are taken.
#pragma once

#include <string>
#include <string_view>

#include "event/event_call.h"

namespace patchbay {

// Whether a field of a function event is such a text.
bool is_format_args(const EventField& field);

// `escape`: no byte of it commands a terminal.
void append_format_args(std::string* out, std::string_view text, bool escape);

}  // namespace patchbay
