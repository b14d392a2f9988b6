// SPDX-License-Identifier: MIT
#include "patch/stub_views.h"

namespace patchbay {

ChunkView g_chunk_views[kMaxChunks];
size_t g_chunk_view_count;

uint64_t patch_original_ip(uint64_t ip) {
  const size_t views = __atomic_load_n(&g_chunk_view_count, __ATOMIC_ACQUIRE);
  for (size_t v = 0; v < views; v++) {
    const ChunkView& view = g_chunk_views[v];
    if (ip - view.base >= view.size) continue;
    uint32_t low = 0, high = __atomic_load_n(view.count, __ATOMIC_ACQUIRE);
    while (low < high) {  // the first record behind ip
      const uint32_t middle = (low + high) / 2;
      if (view.records[middle].address <= ip)
        low = middle + 1;
      else
        high = middle;
    }
    if (low == 0) return 0;
    const StubRecord& stub = view.records[low - 1];
    const uint64_t at = ip - stub.address;
    if (at < stub.body || at >= stub.size) return 0;
    for (uint8_t i = stub.count; i-- > 0;) {
      if (at >= stub.moved[i]) return stub.original + stub.offset[i];
      if (at >= stub.start[i]) return 0;  // a prologue
    }
    return 0;
  }
  return 0;
}

}  // namespace patchbay
