// SPDX-License-Identifier: MIT
// What a program that is executed has to know of a request before it is set up.
#pragma once

#include "cmd/target/trace_request.h"
#include "symbol/follow_wishes.h"

namespace patchbay::cmd {

// The functions, events and libraries of a request.
FollowWishes wishes_of(const TraceRequest& request);

}  // namespace patchbay::cmd
