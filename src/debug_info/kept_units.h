// SPDX-License-Identifier: MIT
//
// What a search for a name in a large file of debug information has found, kept for the next
// command. The search of 100 MB takes a tenth of a second, a look here almost nothing.
//
//   ~/.cache/patchbay/units/KEY     ($XDG_CACHE_HOME/patchbay/units/KEY)
//
//     name TAB offset SPACE offset … NEWLINE      hexadecimal: of units in .debug_info
//
// Lines are only added, each with one write. Half a line, of a full disk, spoils the one behind it
// and no other: both have one tab too many or too few. The bytes are taken for foreign ones; the
// reader checks the offsets. A file of another user is left alone, and one over a megabyte begins
// anew. Whatever fails here is not said: the search is done again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/unique_fd.h"

namespace patchbay {

// The directory; "" where the environment names none, or another user's home.
std::string kept_units_directory();

// The lines of such a file that are whole.
std::unordered_map<std::string, std::vector<uint64_t>> parse_kept_units(std::string_view untrusted);

// Belongs to one thread.
class KeptUnits {
 public:
  // `key`: names the file and what it holds. Makes the directory.
  KeptUnits(const std::string& directory, const std::string& key);

  // None: nothing is known. An empty list is an answer.
  std::optional<std::vector<uint64_t>> find(std::string_view name) const;
  void add(std::string_view name, const std::vector<uint64_t>& units);

 private:
  UniqueFd file_;
  std::unordered_map<std::string, std::vector<uint64_t>> known_;
};

}  // namespace patchbay
