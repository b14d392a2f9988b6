// SPDX-License-Identifier: MIT
// Files whose content is a secret: a token, a password, a key. For the tool.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace patchbay {

// All of an ordinary file of at most `most` bytes, as read_foreign_file(). EPERM with what
// to do: others may read it, or it belongs to neither root nor the caller.
Result<std::string> read_secret_file(const std::string& path, size_t most);

}  // namespace patchbay
