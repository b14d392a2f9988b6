// SPDX-License-Identifier: MIT
// The functions of a running process.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "serve/client.h"

namespace patchbay::cmd {

// What to write for each of several functions that `name` means there, by its address:
// "helper@a.c", "area(int)", "prog@0x1234". Empty: it means one, or none.
std::map<uint64_t, std::string> namesakes_of(serve::Client& client, const std::string& name);

// Where a function is of which only we know the name (MiniDebugInfo), as its agent finds it:
// "prog@0x1234". "": there is none, or there are several.
std::string place_in_process(serve::Client& client, const std::string& name);

// The text of a /proc/kallsyms: lines "%016llx t name\t[module]\n", ascending.
Result<std::string> target_kallsyms(serve::Client& client);

}  // namespace patchbay::cmd
