// SPDX-License-Identifier: MIT
//
// What the process leaves when it ends by exit(), returns from main(), or when its last thread has
// left by the bare system call.
#pragma once

#include "agent/agent.h"

namespace patchbay {

// The buffer files say that the process has ended; files without events are removed.
void end_of_program(Agent* agent);

}  // namespace patchbay
