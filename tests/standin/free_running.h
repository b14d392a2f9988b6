// SPDX-License-Identifier: MIT
#pragma once

namespace standin {

struct Pace {
  unsigned rate = 1000;  // turns a second of each processor
  unsigned forks = 0;    // tasks a second, on the first processors
};

// Starts a thread on each processor that this process may use. They run until the process ends.
void run_freely(const Pace& pace);

}  // namespace standin
