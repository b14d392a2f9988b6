// SPDX-License-Identifier: MIT
//
// Where a function's parameters are at its first byte.
//
// The debug information decides, and not the calling convention: a compiler that knows all callers
// of a function leaves out parameters that are never read, makes constants of those that are the
// same at each call, and passes the others in what registers it likes. Then a parameter without a
// place is gone. The convention serves for what only the debug information of the body describes (a
// place in a frame that is not made yet), as long as all that is known agrees with it:
//
//   static int scale(const char *unit, int factor, int value)      always called with ("m", 7, …)
//     unit    no location              gone
//     factor  DW_AT_const_value 7      a constant
//     value   DW_OP_reg5               in rdi, where the convention has `unit`
#pragma once

#include "debug_info/calling_convention.h"
#include "debug_info/debug_info.h"

namespace patchbay {

// `function`: the entry with the code; `entry`: its first byte.
PassedParameters entry_parameters(DebugInfo& info, Dwarf_Die function, uint64_t entry);

// Whether a compiler may have changed what is passed to the function, or what it returns: it knows
// all callers, and optimizes.
bool may_be_changed(DebugInfo& info, Dwarf_Die function, uint64_t entry);

}  // namespace patchbay
