// SPDX-License-Identifier: MIT
// Files of /proc as texts.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace patchbay::attach {

// None: the file cannot be read.
std::optional<std::string> read_text(const std::string& path);
std::optional<std::string> read_text_at(int directory, const std::string& path);
// Of a `status`: the rest of the line that begins with `name` and a colon.
std::string status_field(const std::string& status, const std::string& name);

// The threads of a process, those among them that have ended and were not waited for; none: it is
// gone.
std::vector<pid_t> tasks_of(pid_t pid);

// A thread is gone, or is just going: then the kernel answers EPERM to a tracer.
bool has_ended(int pid, int tid);

// Whether a thread has children. A child's end is a signal for the thread that has made it. False,
// too, where the kernel does not say (CONFIG_PROC_CHILDREN).
bool has_children(int pid, int tid);
// Them.
std::vector<pid_t> children_of(int pid, int tid);
// The number of the system call in which a thread is; kNoCall: it is in none, and runs or was
// stopped there; kUnknownCall: the kernel does not say.
inline constexpr long kNoCall = -1, kUnknownCall = -2;
long system_call_of(int pid, int tid);
// One that makes a child, or looks for one that has ended.
bool is_about_children(long system_call);

}  // namespace patchbay::attach
