// SPDX-License-Identifier: MIT
//
// What a process that lives in another root, or has other mounts, is given of ours. It may be a
// container that is to see nothing of the host, whose user is root in it:
//
//   the agent's library   a file system of its own that holds a copy and nothing else, and that
//                         nobody can write: not by a path, not by opening a descriptor anew
//   DIR/PID               a mount of this directory alone, without set-user-id files and devices;
//                         `..` does not lead out of it, and what is mounted in it stays there
//
// Both are mounted nowhere: they are descriptors, and go with the last user.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace patchbay::attach {

// The same root and mounts: a path leads both of us to the same file.
bool lives_where_we_do(pid_t pid);

// A directory of ours for process `pid`, to be sent to it. EPERM: the process lives elsewhere, and
// that needs root.
Result<UniqueFd> open_directory_for(pid_t pid, const std::string& path);

// A directory that has a copy of `library` under its name, for process `pid` that does not find it
// by its path. EPERM as above.
Result<UniqueFd> directory_with_copy(pid_t pid, const std::string& library);

}  // namespace patchbay::attach
