// SPDX-License-Identifier: MIT
// How a call of the program changes something: in an ApiScope, and with the errno of the kernel's
// function as the answer.
#pragma once

#include <cerrno>
#include <new>

#include "api/api_scope.h"
#include "probe/callbacks/callbacks.h"

namespace patchbay {

// act(agent), whose answer is 0 or a negative errno; or what the ApiScope refuses.
template <typename Act>
int change(Act&& act) {
  ApiScope scope;
  if (!scope) return scope.refusal();
  try {
    return act(*scope.agent());
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
}

// What taking a callback away answers, once no hit calls it any more. Without the lock: the
// callback that is waited for may be waiting for it.
inline int wait_for_callback(const HitCallback* callback) {
  constexpr uint32_t kLongest = 10'000;  // milliseconds
  return answer_of(wait_until_left(callback, kLongest));
}

}  // namespace patchbay
