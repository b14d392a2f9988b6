// SPDX-License-Identifier: MIT
// saved_cmdlines: `id name` of the threads that have recorded something. A thread that was renamed
// stands in the table twice; the last entry holds.
#include <cstring>
#include <map>

#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

std::string comm_text(const abi::CommEntry& entry) {
  char comm[sizeof entry.comm + 1] = {};
  std::memcpy(comm, entry.comm, sizeof entry.comm);
  return comm;
}

}  // namespace

FilePtr make_saved_cmdlines(const TreeContext& context) {
  return make_text_file([&context]() -> Result<std::string> {
    const abi::CommTable& table = *context.buffer.rings()->comms;
    uint32_t used = std::min(__atomic_load_n(&table.used, __ATOMIC_RELAXED), abi::kCommEntries);
    std::map<uint32_t, std::string> names;
    for (uint32_t i = 0; i < used; i++) {
      // Pairs with the release by which a thread completes its entry.
      uint32_t tid = __atomic_load_n(&table.entry[i].tid, __ATOMIC_ACQUIRE);
      if (tid != 0) names[tid] = comm_text(table.entry[i]);
    }
    std::string text;
    for (const auto& [tid, name] : names) text += std::to_string(tid) + " " + name + "\n";
    return text;
  });
}

}  // namespace patchbay::tracefs
