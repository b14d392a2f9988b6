// SPDX-License-Identifier: MIT
// All sub-commands of the tool.
#pragma once

#include <span>
#include <string_view>

#include "cmd/common/commands.h"

namespace patchbay::cmd {

struct Command {
  const CommandLine* line;
  int (*run)(int argc, char** argv);
  const char* group = nullptr;  // a heading of help: the commands from this one on
  bool is_usual = false;        // help says on a line of its own what it does
};

// In the order in which help lists them.
std::span<const Command> all_commands();
const Command* find_command(std::string_view name);

// patchbay completions: what shells complete (cmd/completions.cc). Help does not list it.
int run_completions(int argc, char** argv);

}  // namespace patchbay::cmd
