// SPDX-License-Identifier: MIT
//
// The tool's side of attach_abi.h: packets, and what all threads stand still for.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "abi/attach_abi.h"
#include "attach/target.h"
#include "base/result.h"

namespace patchbay::attach {

struct Exchanged {
  std::string text;         // of kServing: DIR/PID; of kAsleep: nothing
  uint64_t stopped_ns = 0;  // for how long all threads stood still
};

// `passed`: a descriptor that goes with it; -1: none.
Status send_message(int socket, abi::AttachMessage kind, std::string_view body = "",
                    int passed = -1);

// From the agent's kHooks to its last word, for an attach and a detach: the agent's message says
// which it is. `known`: threads that the process had before its agent came, which none of them is.
// An attach that fails leaves no byte of the program changed; the agent finds the
// socket closed then, and goes as far as it has come. EHOSTDOWN: the tool is told to end, and the
// agent shows no sign of life: no other try is worth it. `has_started` is called when its first
// message has come.
Result<Exchanged> run_exchange(int socket, const Target& target, int timeout_ms,
                               const std::vector<pid_t>& known = {},
                               const std::function<void()>& has_started = {});

}  // namespace patchbay::attach
