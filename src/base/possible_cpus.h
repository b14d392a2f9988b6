// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace patchbay {

// One more than the highest CPU number that this machine can ever have, so that everything that is
// kept for each CPU can be an array.
uint32_t possible_cpus();

}  // namespace patchbay
