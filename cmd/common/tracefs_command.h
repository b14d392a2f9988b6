// SPDX-License-Identifier: MIT
// Which process a command is about: -p PID or a word PID, and a client of it.
#pragma once

#include <memory>
#include <string_view>

#include "cmd/common/commands.h"
#include "serve/client.h"

namespace patchbay::cmd {

// Takes the process id off the words behind a command's options, unless -p has named the process
// (*pid is not 0). False when the first word is no process id.
bool take_pid_word(char** argv, int argc, int* pid);

// Connects to a process. Null after a message, with the exit status in *status.
std::unique_ptr<serve::Client> connect_to(std::string_view command, int pid, int* status);

// The process whose id is `pid`; 0: the only one that has an agent.
Result<std::unique_ptr<serve::Client>> choose_process(int pid);

// The option that names the process.
inline constexpr Option kPidOption = {
    .letter = 'p',
    .name = "pid",
    .argument = "PID",
    .help =
        "names the process, by its id or its name; it may be left out when only one has an "
        "agent"};
// The same for a command that needs it, or the word PID.
inline constexpr Option kNeededPidOption = {.letter = 'p',
                                            .name = "pid",
                                            .argument = "PID",
                                            .help = "names the process, by its id or its name"};
// cmd/target/process_word.h takes its value.

}  // namespace patchbay::cmd
