// SPDX-License-Identifier: MIT
//
// The agent comes into a running process, and leaves it as it was (docs/attach.md).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "attach/target.h"
#include "base/result.h"

namespace patchbay::attach {

struct Arrival {
  std::string agent;  // the file of the agent's library
  // What the environment would say to a program that is started with the agent: PATCHBAY_DIR …
  std::vector<std::pair<std::string, std::string>> settings;
  int timeout_ms = 5000;               // for everything but the dynamic linker's lock
  bool (*is_interrupted)() = nullptr;  // true: no wait goes on, and it fails with EINTR
};

struct Arrived {
  std::string directory;        // DIR/PID, as the agent says
  uint64_t one_stopped_ns = 0;  // for how long one thread stood still, in phase A
  uint64_t all_stopped_ns = 0;  // all of them, in phase C
};

enum class Presence : uint8_t {
  kNone,    // no agent in it
  kActive,  // there is one, and it serves: preloaded or attached
  kAsleep,  // it was attached and has been detached: the library is mapped and does nothing
  kOther,   // a library of another version is mapped
};
// What the maps of `pid` and its directory say. ESRCH: there is no such process.
Result<Presence> presence_of(pid_t pid, const std::string& agent);

// Hooks of an agent stand in the libc of `pid`: a forked child has them from its parent, whatever
// became of that.
bool has_hooks(pid_t pid);

// Phases A to C. Nothing is changed in the process when it fails, and its message says why in one
// sentence, and what to do. EALREADY: there is an agent that serves. EINPROGRESS: it is coming or
// going. ETIME: the machine was too busy to do it while all threads stand still.
Result<Arrived> attach(pid_t pid, const Arrival& arrival);

// Over a connection to its ctl.sock. EINVAL: the program was started with the agent. EBUSY: another
// client is connected, and nothing else. ECANCELED: it is stopped, or a debugger has changed its
// code. EAGAIN, ETIME: it may be tried again. EHOSTDOWN: run_exchange().
Status detach(pid_t pid, int timeout_ms);

// The tool's part of a detach, over a connection on which the agent has been asked for it.
Status detach_over(int socket, const Target& target, int timeout_ms);

}  // namespace patchbay::attach
