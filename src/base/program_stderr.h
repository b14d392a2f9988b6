// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace patchbay {

// Writes to descriptor 2 of the program, also from a thread that has a descriptor table of its own.
void write_to_program_stderr(std::string_view text);

}  // namespace patchbay
