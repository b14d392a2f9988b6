// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace patchbay {

// Writes to the program's descriptor 2, also from a thread with a descriptor table of its own.
void write_to_program_stderr(std::string_view text);

}  // namespace patchbay
