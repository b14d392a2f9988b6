// SPDX-License-Identifier: MIT
// saved_cmdlines: `id name` of the threads that have recorded something, the newest
// saved_cmdlines_size of them. A thread that was renamed stands in the table twice; the last entry
// holds.
#include <cstring>
#include <map>

#include "registry/settings.h"
#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

std::string comm_text(const abi::CommEntry& entry) {
  return std::string(entry.comm, strnlen(entry.comm, sizeof entry.comm));
}

}  // namespace

FilePtr make_saved_cmdlines(const Place& place) {
  return make_text_file(place, [](TraceArray&, const Place& at) -> Result<std::string> {
    std::vector<abi::CommEntry> entries = at.tree->comms();
    std::map<uint32_t, std::string> names;
    for (size_t i = entries.size(); i-- > 0;) {
      if (names.size() >= at.registry().settings().saved_cmdlines_size()) break;
      names.try_emplace(entries[i].tid, comm_text(entries[i]));
    }
    std::string text;
    for (const auto& [tid, name] : names) text += std::to_string(tid) + " " + name + "\n";
    return text;
  });
}

}  // namespace patchbay::tracefs
