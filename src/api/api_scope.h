// SPDX-License-Identifier: MIT
//
// What a function of the API begins with that acts on the registry: agent code from here on, the
// agent's lock, the program's errno kept.
//
//   ApiScope scope;
//   if (!scope) return scope.refusal();      -ESRCH: no agent of this process; -EDEADLK: see below
//   … scope.agent() …
//
// A thread that is in agent code already (a signal handler that interrupted it) may hold the lock,
// with its data half changed; and one that is in a callback may have been hit anywhere, in malloc()
// with its locks held. They are refused; but not in a callback of a static event, whose hit is a
// call of the program's.
#pragma once

#include <cerrno>
#include <mutex>

#include "agent/agent.h"
#include "agent/ended_instances.h"
#include "agent/last_error.h"
#include "agent/load_watch.h"
#include "probe/callbacks/callback_hot.h"

namespace patchbay {

inline bool is_inside_agent() {
  const CallbackSlot* slot = pb_thread.callback_slot;
  const HitCallback* running = slot ? __atomic_load_n(&slot->running, __ATOMIC_RELAXED) : nullptr;
  return pb_thread.in_agent || (running && running->vectors != LiveVectors::kNone);
}

class ApiScope {
 public:
  enum class Sentence : uint8_t { kForget, kKeep };

  // An earlier call's sentence says nothing about this one, whether it is refused or not.
  explicit ApiScope(Sentence earlier = Sentence::kForget)
      : errno_(errno), inside_(is_inside_agent()) {
    pb_thread.in_agent++;
    pb_thread.fast_tid = 0;
    agent_ = inside_ ? nullptr : own_agent();
    if (earlier == Sentence::kForget) forget_error();
    if (inside_) return;
    if (agent_) agent_->lock().lock();
  }
  ~ApiScope() {
    if (agent_) {
      remove_ended_instances(agent_);
      follow_wishes(agent_);
      agent_->lock().unlock();
    }
    pb_thread.in_agent--;
    errno = errno_;
  }
  ApiScope(const ApiScope&) = delete;
  ApiScope& operator=(const ApiScope&) = delete;

  explicit operator bool() const { return agent_ != nullptr; }
  Agent* agent() const { return agent_; }
  Registry& registry() const { return *agent_->registry; }
  // With a sentence, but not inside of the agent, where the table of sentences must not be taken.
  int refusal() const {
    if (inside_) return -EDEADLK;
    return refuse(user_error(ESRCH, "Patchbay does not run in this process."));
  }

 private:
  Agent* agent_ = nullptr;
  int errno_;
  bool inside_;
};

}  // namespace patchbay
