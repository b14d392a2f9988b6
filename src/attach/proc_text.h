// SPDX-License-Identifier: MIT
// Files of /proc as texts.
#pragma once

#include <optional>
#include <string>

namespace patchbay::attach {

// None: the file cannot be read.
std::optional<std::string> read_text(const std::string& path);
// Of a `status`: the rest of the line that begins with `name` and a colon.
std::string status_field(const std::string& status, const std::string& name);

// Whether a thread has children. A child's end is a signal for the thread that has made it. False,
// too, where the kernel does not say (CONFIG_PROC_CHILDREN).
bool has_children(int pid, int tid);
// Or is just making one, or is about to look for one that has ended.
bool may_have_children(int pid, int tid);

}  // namespace patchbay::attach
