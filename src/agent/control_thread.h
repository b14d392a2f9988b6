// SPDX-License-Identifier: MIT
//
// The agent's own thread: it serves the tree over the socket, does what hits have asked for, and
// keeps up with the program: clock pairs, loaded objects, places that wait for their jump, a
// debugger that comes.
#pragma once

#include "agent/agent.h"

namespace patchbay {

// False: there is none, and a line on stderr has said why. Agent.ready is set once it serves.
bool start_control_thread(Agent* agent);

// The parts of such a thread, for one that is made otherwise (arrival.cc).
void begin_control_thread();
void end_control_thread();
// A descriptor table of its own with nothing but `fd` in it, where the system allows that. Returns
// its number there.
int keep_own_descriptors(int fd);
void make_server(Agent* agent);  // Agent.server; null: a line on stderr has said why

// The program may have got a debugger, or lost it. Under the agent's lock.
void follow_tracer(Agent* agent);

}  // namespace patchbay
