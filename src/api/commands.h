// SPDX-License-Identifier: MIT
//
// Commands of the program (struct dynevent_cmd of patchbay/trace_events.h):
//
//   dynevent.cc          words into the buffer            plain text, no agent
//   synth_commands.cc    fields of synthetic events         "
//   probe_commands.cc    fields of probes                   "
//   definitions.cc       run them, under the agent's lock; what goes with its object
#pragma once

#define PATCHBAY_NO_KERNEL_NAMES
#include <patchbay/trace_events.h>

namespace patchbay {

// dynevent_cmd.run_command of the two kinds; private_data is the object whose event it is.
int run_synthetic_command(dynevent_cmd* cmd);
int run_probe_command(dynevent_cmd* cmd);

}  // namespace patchbay
