// SPDX-License-Identifier: MIT
//
// Chunks also keep the records of their stubs in order of address, for patch_original_ip, which
// runs in signal handlers: storage is reserved once, records are appended, the count is published
// last.

#include "patch/stub_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <new>

#include "arch/x86_64/near_memory.h"
#include "base/check.h"

namespace patchbay {

struct StubPool::Chunk {
  uint64_t base = 0;
  uint64_t size = 0;
  uint64_t used = 0;
  uint64_t flushed = 0;
  uint8_t* shadow = nullptr;  // image of [flushed, …) until flush()
  StubRecord* records = nullptr;
  std::atomic<uint32_t> record_count{0};
};

namespace {

constexpr uint64_t kAlign = 16;
constexpr uint64_t kSmallestChunk = 64 << 10;
constexpr uint64_t kLargestChunk = 16 << 20;
constexpr uint64_t kTypicalStub = 160;
constexpr size_t kMaxChunks = 4096;
// lea -128(%rsp), %rsp and back: the flags stay as they are.
constexpr uint8_t kOverRedZone[] = {0x48, 0x8d, 0x64, 0x24, 0x80};
constexpr uint8_t kBackOverRedZone[] = {0x48, 0x8d, 0xa4, 0x24, 0x80, 0x00, 0x00, 0x00};
constexpr size_t kMaxHead = kMaxPrologue + sizeof(kOverRedZone) + sizeof(kBackOverRedZone);
constexpr uint64_t kMaxStub = kMaxHead + kMaxBody;

// What patch_original_ip searches. Never shrinks.
struct ChunkView {
  uint64_t base, size;
  const StubRecord* records;
  const std::atomic<uint32_t>* count;
};
ChunkView g_views[kMaxChunks];
std::atomic<size_t> g_view_count{0};

void* reserve(size_t size) {
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

DisplacedRun run_of(const Site& site) {
  DisplacedRun run;
  run.from = site.address;
  run.code = site.original;
  run.displaced = site.displaced;
  run.count = site.boundary_count;
  std::copy_n(site.boundary, kMaxBoundaries, run.offset);
  run.is_nops = site.kind == SiteKind::kSled || site.kind == SiteKind::kProbeTrap;
  return run;
}

bool is_probe(const Site& site) {
  return site.kind == SiteKind::kProbeTrap || site.kind == SiteKind::kProbeJump;
}

// What a stub does before the displaced instructions, of at most kMaxHead bytes.
size_t write_head(const Site& site, const StubPrologue& prologue, uint8_t* out, uint64_t address) {
  if (!is_probe(site)) return prologue(out, kMaxPrologue, address);
  uint8_t* at = std::copy(std::begin(kOverRedZone), std::end(kOverRedZone), out);
  at += prologue(at, kMaxPrologue, address + sizeof(kOverRedZone));
  at = std::copy(std::begin(kBackOverRedZone), std::end(kBackOverRedZone), at);
  return size_t(at - out);
}

}  // namespace

StubPool::Chunk* StubPool::chunk_for(uint64_t code) {
  for (size_t i = chunks_.size(); i-- > 0;) {
    Chunk* chunk = chunks_[i];
    if (chunk->size - chunk->used >= kMaxStub && within_reach(chunk->base, code) &&
        within_reach(chunk->base + chunk->size, code)) {
      return chunk;
    }
  }
  const size_t views = g_view_count.load(std::memory_order_relaxed);
  if (views == kMaxChunks) return nullptr;
  uint64_t size = std::clamp(expected_ * kTypicalStub, kSmallestChunk, kLargestChunk);
  size = (size + 4095) & ~uint64_t{4095};
  uint64_t base = map_near(code, size);
  if (!base && size > kSmallestChunk) base = map_near(code, size = kSmallestChunk);
  if (!base) return nullptr;
  auto* chunk = new Chunk;
  chunk->base = base;
  chunk->size = size;
  chunk->shadow = static_cast<uint8_t*>(reserve(size));
  chunk->records = static_cast<StubRecord*>(reserve(size / kAlign * sizeof(StubRecord)));
  if (!chunk->shadow || !chunk->records) return nullptr;
  g_views[views] = {base, size, chunk->records, &chunk->record_count};
  g_view_count.store(views + 1, std::memory_order_release);
  chunks_.push_back(chunk);
  return chunk;
}

StubRecord* StubPool::build(const Site& site, const StubPrologue& prologue, std::string* reason) {
  Chunk* chunk = chunk_for(site.address);
  if (!chunk) {
    *reason = "no memory for a stub within 2 GiB of the function";
    return nullptr;
  }
  const uint64_t address = chunk->base + chunk->used;
  uint8_t* out = chunk->shadow + chunk->used;
  const size_t body = write_head(site, prologue, out, address);
  PB_CHECK_VALUES(body <= kMaxHead, body, address);
  RelocatedRun relocated;
  if (const char* why = relocate_run(run_of(site), address + body, out + body, &relocated)) {
    *reason = why;
    return nullptr;
  }
  const uint32_t index = chunk->record_count.load(std::memory_order_relaxed);
  auto* record = new (&chunk->records[index]) StubRecord;
  record->address = address;
  record->original = site.address;
  record->body = static_cast<uint16_t>(body);
  record->size = static_cast<uint16_t>(body + relocated.size);
  record->displaced = site.displaced;
  record->count = site.boundary_count;
  std::copy_n(site.boundary, kMaxBoundaries, record->offset);
  std::copy_n(relocated.start, kMaxBoundaries, record->start);
  chunk->record_count.store(index + 1, std::memory_order_release);
  chunk->used += (record->size + kAlign - 1) & ~(kAlign - 1);
  return record;
}

StubRecord* StubPool::find_parked(const Site& site, const StubPrologue& prologue) const {
  uint8_t bytes[kMaxHead];
  int tried = 0;
  for (StubRecord* stub = site.stubs; stub && tried < 4; stub = stub->older, tried++) {
    const size_t size = write_head(site, prologue, bytes, stub->address);
    if (size == stub->body &&
        std::memcmp(bytes, reinterpret_cast<const void*>(stub->address), size) == 0) {
      return stub;
    }
  }
  return nullptr;
}

bool StubPool::flush(TextMemory& memory) {
  bool good = true;
  for (Chunk* chunk : chunks_) {
    if (chunk->used == chunk->flushed) continue;
    const uint64_t from = chunk->flushed;
    const uint64_t size = chunk->used - from;
    if (!memory.write(chunk->base + from, chunk->shadow + from, size)) {
      good = false;
      continue;
    }
    chunk->flushed = chunk->used;
    // The image is in place; give whole pages of the shadow back.
    const uint64_t first = (from + 4095) & ~uint64_t{4095};
    const uint64_t last = chunk->used & ~uint64_t{4095};
    if (last > first) ::madvise(chunk->shadow + first, last - first, MADV_DONTNEED);
  }
  return good;
}

uint64_t patch_original_ip(uint64_t ip) {
  const size_t views = g_view_count.load(std::memory_order_acquire);
  for (size_t v = 0; v < views; v++) {
    const ChunkView& view = g_views[v];
    if (ip - view.base >= view.size) continue;
    uint32_t low = 0, high = view.count->load(std::memory_order_acquire);
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
    uint8_t i = stub.count;
    while (i > 0 && stub.start[i - 1] > at - stub.body) i--;
    return i ? stub.original + stub.offset[i - 1] : 0;
  }
  return 0;
}

}  // namespace patchbay
