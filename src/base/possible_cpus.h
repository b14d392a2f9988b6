// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace patchbay {

// One more than the highest CPU number that this machine can ever have: the length of an array with
// an element for each CPU.
uint32_t possible_cpus();

}  // namespace patchbay
