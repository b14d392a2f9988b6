// SPDX-License-Identifier: MIT
#include "output/graph_times.h"

#include <algorithm>
#include <cstring>

#include "abi/ftrace_records.h"
#include "output/text_put.h"
#include "ring_buffer/buffer_file.h"

namespace patchbay {

namespace {
constexpr uint32_t kCommitMask = (1u << 27) - 1;
}

void convert_graph_times(std::span<uint8_t> record, const TicksToNs& to_ns) {
  if (record.size() < sizeof(abi::GraphExitRecord) ||
      load<uint16_t>(record.data()) != abi::kGraphExitId)
    return;
  for (size_t offset :
       {offsetof(abi::GraphExitRecord, calltime), offsetof(abi::GraphExitRecord, rettime)}) {
    const uint64_t ns = to_ns(load<uint64_t>(record.data() + offset));
    std::memcpy(record.data() + offset, &ns, sizeof ns);
  }
}

void convert_graph_times_of_page(std::span<uint8_t> page, const TicksToNs& to_ns) {
  if (page.size() < abi::kPageHeaderSize) return;
  const uint32_t room = uint32_t(page.size() - abi::kPageHeaderSize);
  EventIterator events(page, std::min(load<uint32_t>(page.data() + 8) & kCommitMask, room));
  for (EventView event; events.next(&event);) {
    const size_t offset = size_t(event.record.data() - page.data());
    convert_graph_times(page.subspan(offset, event.record.size()), to_ns);
  }
}

}  // namespace patchbay
