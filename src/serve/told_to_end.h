// SPDX-License-Identifier: MIT
#pragma once

namespace patchbay::serve {

// A signal has asked the tool to end, or end_soon() was called (client.h): waits for others are
// short from then on. From any thread.
bool is_told_to_end();

}  // namespace patchbay::serve
