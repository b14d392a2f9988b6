// SPDX-License-Identifier: MIT
// The page as one text: its files, which are in the tool, with a recording.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace patchbay::cmd {

enum class PageKind : char {
  kFile,  // asks nobody for anything
  kLive,  // asks its server, and nobody else, for the address "live" (view_process.cc)
};

// Gives the page to `write`, piece by piece, until that returns false. `payload`: page_payload().
bool write_page(std::string_view payload, const std::function<bool(std::string_view)>& write,
                PageKind kind = PageKind::kFile);

}  // namespace patchbay::cmd
