// SPDX-License-Identifier: MIT
//
// The program that is to be recorded, looked at before it runs: whether the agent can be preloaded
// into it, and if not, why.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/file_mapping.h"
#include "base/result.h"
#include "symbol/elf_image.h"
#include "symbol/symbol.h"

namespace patchbay::cmd {

// The file that execvp() would run: NAME itself when it has a '/', else the first executable one in
// PATH. ENOENT or EACCES with a sentence.
Result<std::string> find_program(const std::string& name);

// Follows `#!` and refuses programs into which the dynamic linker does not preload: no ELF file,
// 32-bit or foreign architecture, statically linked or with another C library, set-user-id,
// set-group-id, file capabilities. It also refuses programs that the agent would end
// (MemorySanitizer). The sentence names the file and the reason.
Status check_program(const std::string& path);

// The ELF file that the kernel loads when `path` is run, behind the interpreters of scripts.
Result<std::string> elf_file_to_run(const std::string& path);

// An ELF file and its bytes. ENOEXEC: the file is there, and is no ELF file for x86-64.
struct ElfFile {
  FileMapping bytes;
  ElfImage image;
};
Result<ElfFile> open_elf(const std::string& path);

// The names that the dynamic linker goes by: the file's own and those of the libraries that it asks
// for. Both are empty when it is no ELF file.
struct LinkedNames {
  std::string soname;
  std::vector<std::string> needed;
};
LinkedNames linked_names(const std::string& path);

// The library that has to stand before the agent in LD_PRELOAD: the shared library of
// AddressSanitizer, when the program is linked with it, or has it in what the user preloads, as it
// insists on being the first. Mostly empty.
std::string runtime_before_agent(const std::string& path, const std::string& preloaded);

// A script that begins with `#!/usr/bin/env NAME` is run as NAME SCRIPT ARG…: env would exec NAME
// without the agent, because the agent leaves the environment of programs that a recorded program
// executes. Other words stay.
std::vector<std::string> without_env(const std::string& path, std::vector<std::string> words);

// An ELF file as one module at its own addresses.
Result<RecordedModule> module_of_file(const std::string& path);

// The agent's libpatchbay.so.0 in a library folder beside that of the tool (../lib, ../lib64 and
// their like), else where this build installs it. ENOENT with a sentence.
Result<std::string> agent_beside(std::string_view folder_of_tool);
// $PATCHBAY_AGENT, else the one beside this tool.
Result<std::string> find_agent();

// By its name, which a copy or an installed version has as well.
bool is_agent_file(std::string_view path);

// The program that a process runs; empty: it has ended, or is another user's.
std::string exe_of(pid_t pid);

}  // namespace patchbay::cmd
