// SPDX-License-Identifier: MIT
// report --processes: who was recorded, and what was not followed.
#pragma once

#include "cmd/common/pager.h"
#include "cmd/common/trace_input.h"

namespace patchbay::cmd {

// To standard output; returns the exit status.
int report_processes(TraceInput& input, const Pager& pager);

}  // namespace patchbay::cmd
