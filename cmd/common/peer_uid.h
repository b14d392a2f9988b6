// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <optional>

namespace patchbay::cmd {

// Whose the other end of a TCP connection is. Nothing: it is on another machine, or the kernel
// does not say (it has no tcp_diag).
std::optional<uid_t> uid_of_peer(int socket);

}  // namespace patchbay::cmd
