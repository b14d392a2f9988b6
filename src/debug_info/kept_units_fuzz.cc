// SPDX-License-Identifier: MIT
//
// Any bytes as a file of kept units: no name without a line of its own, and the same when they are
// read again.
#include <cstdlib>

#include "debug_info/kept_units.cc"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto known = patchbay::parse_kept_units(text);
  for (const auto& [name, units] : known) {
    if (name.empty() || name.find_first_of("\t\n") != name.npos) std::abort();
    if (text.find(name + '\t') == text.npos || units.size() > size) std::abort();
  }
  if (patchbay::parse_kept_units(text) != known) std::abort();
  return 0;
}
