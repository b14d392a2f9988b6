// SPDX-License-Identifier: MIT
#include "export/export_switches.h"

#include <algorithm>

namespace patchbay {

const ExportOffCpu* ExportSwitches::see(uint32_t input, uint64_t ns,
                                        std::span<const uint8_t> untrusted_record,
                                        const ThreadOf& thread_of) {
  Input& state = inputs_[input];
  SchedSwitch one;
  if (!state.reader || !state.reader->read(untrusted_record, &one)) return nullptr;
  if (one.prev_tid != 0 && !one.prev_ended) state.off[one.prev_tid] = {ns, one.prev_state};
  const auto known = state.off.find(one.next_tid);
  if (known == state.off.end() || one.next_tid == one.prev_tid) return nullptr;
  found_ = {thread_of(one.next_tid), std::min(known->second.ns, ns),
            state.reader->state_text(known->second.state)};
  state.off.erase(known);
  return &found_;
}

}  // namespace patchbay
