// SPDX-License-Identifier: MIT
// The page as one text: its files, which are in the tool, with a recording.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace patchbay::cmd {

// Gives the page to `write`, piece by piece, until that returns false. `payload`: page_payload().
bool write_page(std::string_view payload, const std::function<bool(std::string_view)>& write);

}  // namespace patchbay::cmd
