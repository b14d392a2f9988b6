// SPDX-License-Identifier: MIT
// saved_tgids: `thread process` of the threads that have recorded something, with the option
// record-tgid.
#include <map>

#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_saved_tgids(const Place& place) {
  return make_text_file(place, [](TraceArray& array, const Place& at) -> Result<std::string> {
    std::string text;
    if (!array.options[TraceOption::kRecordTgid]) return text;
    std::map<uint32_t, uint32_t> processes;
    for (const abi::CommEntry& entry : at.tree->comms()) processes[entry.tid] = entry.tgid;
    for (const auto& [tid, tgid] : processes) {
      if (tgid != 0) text += std::to_string(tid) + " " + std::to_string(tgid) + "\n";
    }
    return text;
  });
}

}  // namespace patchbay::tracefs
