// SPDX-License-Identifier: MIT
#include "patch/stub_views.h"

#include "hot/fault.h"

namespace patchbay {

ChunkView g_chunk_views[kMaxChunks];
size_t g_chunk_view_count;
StackShape g_stack_shapes[kMaxStackShapes];

namespace {

constexpr uint8_t kReturnAddressSize = 8;

// The instruction whose prologue or moved code offset `at` of the stub lies in.
uint8_t index_at(const StubRecord& stub, uint64_t at) {
  uint8_t i = static_cast<uint8_t>(stub.count - 1);
  while (i > 0 && at < stub.start[i]) i--;
  return i;
}

StubPlace in_prologue(const StackShape& shape, uint64_t original, uint64_t at) {
  StackRow now;
  for (uint32_t i = 0; i < shape.count && shape.row[i].at <= at; i++) now = shape.row[i];
  return {original, now.moved, now.is_saved != 0};
}

}  // namespace

const StubRecord* stub_at(uint64_t ip) {
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
    if (low == 0) return nullptr;
    const StubRecord* stub = &view.records[low - 1];
    return ip - stub->address < stub->size ? stub : nullptr;
  }
  return nullptr;
}

uint64_t patch_original_ip(uint64_t ip) {
  const StubRecord* stub = stub_at(ip);
  if (!stub) return 0;
  const uint64_t at = ip - stub->address;
  if (at < stub->body) return 0;
  const uint8_t i = index_at(*stub, at);
  return at >= stub->moved[i] ? stub->original + stub->offset[i] : 0;
}

bool is_stub_load_abort(uint64_t ip) {
  const StubRecord* stub = stub_at(ip);
  if (!stub || ip - stub->address < kLoadAbortSize || patch_original_ip(ip)) return false;
  return is_load_abort(reinterpret_cast<const uint8_t*>(ip));
}

// The first label behind the load is that of its sequence.
uint64_t stub_load_abort(uint64_t ip) {
  const StubRecord* stub = stub_at(ip);
  if (!stub || patch_original_ip(ip)) return 0;
  const uint8_t i = ip - stub->address < stub->body ? 0 : index_at(*stub, ip - stub->address);
  const uint64_t end = stub->address + stub->moved[i];
  for (uint64_t at = ip + kLoadAbortSize; at < end; at++)
    if (is_load_abort(reinterpret_cast<const uint8_t*>(at))) return at;
  return 0;
}

bool stub_place(uint64_t ip, StubPlace* place) {
  const StubRecord* stub = stub_at(ip);
  if (!stub) return false;
  const uint64_t at = ip - stub->address;
  const uint8_t i = at < stub->body ? 0 : index_at(*stub, at);
  const uint64_t original = stub->original + stub->offset[i];
  if (at < stub->moved[i]) {
    const uint64_t begin = i ? stub->start[i] : 0;
    *place = in_prologue(g_stack_shapes[stub->shape[i]], original, at - begin);
  } else if (stub->comes_back && at >= stub->jump_back) {
    *place = {stub->exit(), 0, false};
  } else {
    const bool has_called = stub->called && at >= stub->called;
    *place = {original, has_called ? kReturnAddressSize : uint8_t{0}, false};
  }
  return true;
}

}  // namespace patchbay
