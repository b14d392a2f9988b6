// SPDX-License-Identifier: MIT
// What goes with an object that is unloaded (definitions.cc), by the source that knows of it. Under
// the agent's lock.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/agent.h"

namespace patchbay {

// Its subscriptions, whose callbacks lie from `start` to `end`. No hit calls them any more; those
// that threads may still be in are added to `callbacks`, to be waited for without the lock.
void unsubscribe_inside(Agent& agent, uint64_t start, uint64_t end,
                        std::vector<const HitCallback*>* callbacks);

}  // namespace patchbay
