// SPDX-License-Identifier: MIT
//
// Threads and processes that the program makes, for the option event-fork; and the agent's lock
// over a fork.
#pragma once

namespace patchbay {

void install_task_hooks();

}  // namespace patchbay
