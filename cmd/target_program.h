// SPDX-License-Identifier: MIT
//
// The program that is to be recorded, looked at before it runs: whether the agent can be preloaded
// into it, and if not, why.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "symbol/symbol.h"

namespace patchbay::cmd {

// The file that execvp() would run: NAME itself when it has a '/', else the first executable one in
// PATH. ENOENT or EACCES with a sentence.
Result<std::string> find_program(const std::string& name);

// Follows `#!` and refuses what the dynamic linker will not preload into: not ELF, 32-bit or
// foreign architecture, statically linked or with another C library, set-user-id, set-group-id,
// file capabilities; and what the agent would end (MemorySanitizer). The sentence names the file
// and the reason.
Status check_program(const std::string& path);

// What the dynamic linker goes by: the file's own name and those of the libraries that it asks for.
// Empty of what is no ELF file.
struct LinkedNames {
  std::string soname;
  std::vector<std::string> needed;
};
LinkedNames linked_names(const std::string& path);

// What has to stand before the agent in LD_PRELOAD: the shared library of AddressSanitizer, when
// the program is linked with it, which wants to be the first. Mostly empty.
std::string runtime_before_agent(const std::string& path);

// A script that begins with `#!/usr/bin/env NAME` is run as NAME SCRIPT ARG…: env would exec NAME
// without the agent, which leaves the environment of what a recorded program execs. Other words
// stay.
std::vector<std::string> without_env(const std::string& path, std::vector<std::string> words);

// The names of the libraries that an ELF file is linked with; none when it is no such file.
std::vector<std::string> needed_by(const std::string& path);

// An ELF file as one module at its own addresses.
Result<RecordedModule> module_of_file(const std::string& path);

// The agent's libpatchbay.so: $PATCHBAY_AGENT, else beside the tool (../lib), else where it is
// installed. ENOENT with a sentence.
Result<std::string> find_agent();

}  // namespace patchbay::cmd
