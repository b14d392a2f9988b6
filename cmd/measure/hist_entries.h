// SPDX-License-Identifier: MIT
//
// The text of a file `hist` taken apart. A text of the traced program may stand in a key, with
// newlines and whatever else; the kernel writes it as it is.
//
//   { sql: select 1,
//     2                        } hitcount:          3  size:         12
//   ^ key from here to here   ^  ^ values up to the end of the line
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace patchbay::cmd {

struct HistEntry {
  std::string_view key, values;  // without the braces
};
// The entries of a histogram that counts hits. They point into the text.
std::vector<HistEntry> hist_entries(std::string_view text);

// The text for a terminal. Bytes that could command one become \xNN, line ends in keys become \n.
// The lines of stacks in a key stay lines.
std::string printable_hist(std::string_view text);

}  // namespace patchbay::cmd
