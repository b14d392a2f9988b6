// SPDX-License-Identifier: MIT
//
// Who is at the other end of an agent's socket, DIR/N/ctl.sock. Its user owns the directory, and
// may have anybody listen there: a child that stays behind when the process executes a set-user-id
// program would have the tool work on that one. So the process itself has to listen, and has to
// send each answer.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace patchbay::serve {

// N of "…/N" or "…/N.1"; 0: something else.
int pid_of_directory(const std::string& directory);

// The process that has called listen() for the other end, by its number here, though it may have
// ended since. 0: it is in a pid namespace that we do not see.
int peer_pid(int fd);

// Whether the process `peer` may be the one of DIR/`number`. Who is preloaded in a pid namespace of
// its own has named the directory by its number there.
bool is_process_of_directory(int peer, int number);
// Nobody but process `number`, as we count, may be there; nor may a number that means one here
// be another's inside.
bool is_process_itself(int peer, int number);

Error foreign_peer(int peer, const std::string& directory);

// --- the agent's side

// Whether a client may use an agent whose effective user was `owner` when it made `socket`. How it
// is with other user namespaces stands there.
bool peer_is_allowed(int fd, uid_t owner, const std::string& socket);
// Whether `map`, a uid_map, leaves ids of the host out: who has one of those is the overflow id.
bool leaves_ids_out(const std::string& map);

}  // namespace patchbay::serve
