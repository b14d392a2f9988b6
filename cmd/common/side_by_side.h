// SPDX-License-Identifier: MIT
//
// What a command does for each of many processes: at once, so that those that do not answer are
// waited for together; and each for itself, so that one whose answers take all memory fails alone.
#pragma once

#include <cstddef>
#include <functional>

#include "base/result.h"

namespace patchbay::cmd {

// Commands that tell of all processes wait no longer for them.
inline constexpr int kMostWaitMs = 1000;

// What `work` returns; an exception is an error, ENOMEM.
Status guarded(const std::function<Status()>& work);

// Calls work(0) … work(count - 1), each once, in several threads. It lets no exception out.
void side_by_side(size_t count, const std::function<void(size_t)>& work);

}  // namespace patchbay::cmd
