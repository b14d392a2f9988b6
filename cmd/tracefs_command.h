// SPDX-License-Identifier: MIT
// The head of `cat`, `write` and `ls`: PID PATH, and a client of that process.
#pragma once

#include <memory>
#include <string_view>

#include "commands.h"
#include "serve/client.h"

namespace patchbay::cmd {

// Connects to the process whose id is `pid_text`. Null after a message, with the exit status in
// *status.
std::unique_ptr<serve::Client> connect_to(std::string_view command, std::string_view pid_text,
                                          int* status);

// The process whose id is `pid`; 0: the only one that has an agent.
Result<std::unique_ptr<serve::Client>> choose_process(int pid);

// An option that getopt_long has refused: `-x`, `--xyz`, or the one that misses its value.
int bad_option(std::string_view command, char** argv);

}  // namespace patchbay::cmd
