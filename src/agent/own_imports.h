// SPDX-License-Identifier: MIT
#pragma once

namespace patchbay {

// Whether the agent's references to libc's functions have been looked at (own_imports.cc). Before
// that, one may lead to a malloc() whose block the free() behind it does not know.
bool imports_are_bound();

}  // namespace patchbay
