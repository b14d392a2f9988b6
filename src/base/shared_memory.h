// SPDX-License-Identifier: MIT
//
// Memory that is never freed and that forked children share, for the few words that a traced
// thread of any of these processes changes: is an instance recording, how often does an action
// still act. (What is in a buffer file is shared as well, but readers of foreign processes see it.)
#pragma once

#include <cstddef>
#include <new>

namespace patchbay {

// Zeroed, on a cache line of its own. Never null: without memory for a shared mapping it is private
// memory, and each child goes on with what it had. Any thread.
void* shared_forever(size_t bytes);

template <typename T>
T* make_shared_forever() {
  return new (shared_forever(sizeof(T))) T{};
}

}  // namespace patchbay
