// SPDX-License-Identifier: MIT
// What -p takes: the id of a process, or the name of running ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace patchbay::cmd {

// The running processes that have this name now: as ps shows it, or as their program's file is
// called; the kernel keeps 15 bytes of the first. Those that this user may look into, without this
// one, in the order of their ids.
std::vector<int> processes_called(std::string_view name);

// The value of -p where one process is needed. Null when it is right, else the sentence about it.
const char* take_pid(const char* value, int* pid);
// The same where several may be: "12,nginx". One that is named twice is taken once.
const char* take_pids(std::string_view value, std::vector<int>* pids);

}  // namespace patchbay::cmd
