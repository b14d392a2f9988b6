// SPDX-License-Identifier: MIT
// The functions of a running process as the text of a /proc/kallsyms.
#pragma once

#include <string>

#include "base/result.h"
#include "serve/client.h"

namespace patchbay::cmd {

// Lines "%016llx t name\t[module]\n", ascending.
Result<std::string> target_kallsyms(serve::Client& client);

}  // namespace patchbay::cmd
