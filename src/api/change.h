// SPDX-License-Identifier: MIT
// How a call of the program changes something: in an ApiScope, and with the errno of the kernel's
// function as the answer.
#pragma once

#include <cerrno>
#include <new>

#include "api/api_scope.h"

namespace patchbay {

inline int answer_of(const Status& status) { return api_answer(status); }

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

}  // namespace patchbay
