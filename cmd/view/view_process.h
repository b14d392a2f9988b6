// SPDX-License-Identifier: MIT
// patchbay view -p PID: the page of a running process, served to a browser of this machine.
#pragma once

#include <cstdint>

#include "cmd/view/live_process.h"

namespace patchbay::cmd {

// Until Ctrl-C. Prints the page's address on standard output. Returns the exit status.
int view_process(int pid, uint16_t port, LiveChoice choice);

}  // namespace patchbay::cmd
