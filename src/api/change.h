// SPDX-License-Identifier: MIT
// How a call of the program changes something: under the agent's lock, never from within the agent,
// and with the errno of the kernel's function as the answer.
#pragma once

#include <cerrno>
#include <mutex>
#include <new>

#include "agent/agent.h"
#include "ring_buffer/ring_set.h"

namespace patchbay {

inline int answer_of(const Status& status) { return status.ok() ? 0 : -status.error().errno_value; }

// Calls act(agent), whose answer is 0 or a negative errno. -EBUSY: this thread is in the agent
// already (a signal handler, a callback); -ESRCH: no agent, or a forked child. errno stays.
template <typename Act>
int change(Act&& act) {
  if (pb_thread.in_agent) return -EBUSY;
  Agent* agent = own_agent();
  if (!agent) return -ESRCH;
  const int saved_errno = errno;
  AgentScope scope;
  int answer;
  try {
    std::lock_guard guard(agent->lock());
    answer = act(*agent);
  } catch (const std::bad_alloc&) {
    answer = -ENOMEM;
  }
  errno = saved_errno;
  return answer;
}

}  // namespace patchbay
