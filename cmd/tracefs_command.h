// SPDX-License-Identifier: MIT
// Which process a command is about: -p PID or a word PID, and a client of it.
#pragma once

#include <memory>
#include <string_view>

#include "commands.h"
#include "serve/client.h"

namespace patchbay::cmd {

// The words behind a command's options. A process that -p has not named (*pid is 0) is the first
// of them, which is taken. False when that is no process id.
bool take_pid_word(char** argv, int argc, int* pid);

// Connects to a process. Null after a message, with the exit status in *status.
std::unique_ptr<serve::Client> connect_to(std::string_view command, int pid, int* status);

// The process whose id is `pid`; 0: the only one that has an agent.
Result<std::unique_ptr<serve::Client>> choose_process(int pid);

// An option that getopt_long has refused: `-x`, `--xyz`, or the one that misses its value.
int bad_option(std::string_view command, char** argv);

}  // namespace patchbay::cmd
