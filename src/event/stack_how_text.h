// SPDX-License-Identifier: MIT
//
// The line of a text that says how a stack was obtained (event/stack_how.h).
#pragma once

#include <string>

#include "event/stack_how.h"

namespace patchbay {

// "# stack: 12 frames by .eh_frame", "# stack: 9 frames, 2 by frame pointer, 7 by .eh_frame; ended
// early: code without an unwind table". Without a newline; empty if it is not known.
std::string stack_how_text(StackHow how);

}  // namespace patchbay
