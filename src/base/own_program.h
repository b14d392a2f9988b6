// SPDX-License-Identifier: MIT
//
// The program that this process runs: what /proc/self/exe says; in a root directory without /proc,
// what it was executed as. Empty: neither is known.
#pragma once

#include <string>

namespace patchbay {

std::string own_program();

}  // namespace patchbay
