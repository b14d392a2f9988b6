// SPDX-License-Identifier: MIT
// What a program that is executed has to know of a request before it is set up.
#pragma once

#include <string>
#include <vector>

#include "cmd/target/trace_request.h"
#include "symbol/follow_wishes.h"

namespace patchbay::cmd {

// The functions, events and libraries of a request.
FollowWishes wishes_of(const TraceRequest& request);
// Of events alone.
FollowWishes wishes_of(const std::vector<EventRequest>& events);
// Of lines of set_ftrace_filter; of none: everything.
FollowWishes wishes_of_filter(const std::vector<std::string>& lines);

}  // namespace patchbay::cmd
