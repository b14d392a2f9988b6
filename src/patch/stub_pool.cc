// SPDX-License-Identifier: MIT
//
// Chunks also keep the records of their stubs in order of address (stub_views.h).

#include "patch/stub_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
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
  uint32_t record_count = 0;  // atomic
};

namespace {

constexpr uint64_t kAlign = 16;
constexpr uint64_t kSmallestChunk = 64 << 10;
constexpr uint64_t kLargestChunk = 16 << 20;
constexpr uint64_t kTypicalStub = 160;
constexpr uint64_t kMaxStub = kMaxBoundaries * kMaxPrologue + kMaxBody;
static_assert(kMaxStub <= UINT16_MAX, "StubRecord has 16 bits for offsets in a stub");

void* reserve(size_t size) {
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// The site's instructions [first, last) as a run of their own.
DisplacedRun run_of(const Site& site, uint8_t first, uint8_t last) {
  const bool at_end = last == site_count(site);
  const uint8_t end = at_end ? site_size(site) : site.boundary[last];
  DisplacedRun run;
  run.from = site.address + site.boundary[first];
  run.code = site.original + site.boundary[first];
  run.displaced = static_cast<uint8_t>(end - site.boundary[first]);
  run.count = static_cast<uint8_t>(last - first);
  for (uint8_t i = 0; i < run.count; i++)
    run.offset[i] = static_cast<uint8_t>(site.boundary[first + i] - site.boundary[first]);
  run.is_nops = site.kind == SiteKind::kSled;
  run.runs_anywhere = site.runs_anywhere;
  run.falls_through = !at_end;
  return run;
}

// The nop of a static event as the jmp that it is while the event is on. Nothing is displaced
// behind it: it is as long as the longest jump. False: it is not so.
bool take_key(uint64_t target, uint8_t code[kMaxDisplaced], DisplacedRun* run) {
  if (run->count != 1 || run->falls_through || run->displaced != 5) return false;
  run->code = code;
  run->is_nops = run->runs_anywhere = false;
  return encode_jump(run->from, target, code);
}

// The site's own prologue and nothing else.
bool is_plain(const StubParts& parts) {
  if (!parts.prologue[0] || parts.key[0]) return false;
  for (size_t i = 1; i < kMaxBoundaries; i++)
    if (parts.prologue[i] || parts.key[i]) return false;
  return true;
}

// Writes the whole stub for execution at `address` and describes it. Null, or why it cannot be.
//
//   prologue of the site | its instruction … | prologue of a site inside | its instruction … | jmp
const char* assemble(const StubParts& parts, uint64_t address, uint8_t* out, StubRecord* record) {
  const Site& site = *parts.site;
  const uint8_t count = site_count(site);
  record->address = address;
  record->original = site.address;
  record->displaced = site_size(site);
  record->count = count;
  record->is_plain = is_plain(parts);
  std::copy_n(site.boundary, kMaxBoundaries, record->offset);
  size_t size = 0;
  for (uint8_t first = 0; first < count;) {
    uint8_t last = static_cast<uint8_t>(first + 1);
    while (last < count && !parts.prologue[last] && !parts.key[last]) last++;
    const size_t start = size;
    if (const StubPrologue* prologue = parts.prologue[first])
      size += (*prologue)(out + size, kMaxPrologue, address + size);
    PB_CHECK_VALUES(size - start <= kMaxPrologue, size, address);
    RelocatedRun moved;
    DisplacedRun run = run_of(site, first, last);
    uint8_t jump[kMaxDisplaced] = {};
    if (parts.key[first] && !take_key(parts.key[first], jump, &run))
      return "the nop of a static event is not the last instruction of what is displaced";
    if (const char* why = relocate_run(run, address + size, out + size, &moved)) return why;
    for (uint8_t i = first; i < last; i++)
      record->start[i] = record->moved[i] = static_cast<uint16_t>(size + moved.start[i - first]);
    if (first == 0) record->body = static_cast<uint16_t>(size);
    if (first != 0) record->start[first] = static_cast<uint16_t>(start);
    if (const StubPrologue* prologue = parts.prologue[first])
      record->shape[first] = prologue->shape;
    record->jump_back = static_cast<uint16_t>(size + moved.jump_back);
    if (moved.called) record->called = static_cast<uint16_t>(size + moved.called);
    size += moved.size;
    record->comes_back = moved.comes_back || parts.key[first];
    first = last;
  }
  PB_CHECK_VALUES(size <= kMaxStub, size, address);
  record->size = static_cast<uint16_t>(size);
  return nullptr;
}

}  // namespace

uint16_t stack_shape_number(const StackShape& shape) {
  static uint16_t used = 1;
  for (uint16_t i = 0; i < used; i++)
    if (g_stack_shapes[i] == shape) return i;
  if (used == kMaxStackShapes) return 0;
  g_stack_shapes[used] = shape;  // published with the record of a stub that has it
  return used++;
}

StubPool::Chunk* StubPool::chunk_for(uint64_t code) {
  for (size_t i = chunks_.size(); i-- > 0;) {
    Chunk* chunk = chunks_[i];
    if (chunk->size - chunk->used >= kMaxStub && within_reach(chunk->base, code) &&
        within_reach(chunk->base + chunk->size, code)) {
      return chunk;
    }
  }
  const size_t views = __atomic_load_n(&g_chunk_view_count, __ATOMIC_RELAXED);
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
  g_chunk_views[views] = {base, size, chunk->records, &chunk->record_count};
  __atomic_store_n(&g_chunk_view_count, views + 1, __ATOMIC_RELEASE);
  chunks_.push_back(chunk);
  return chunk;
}

StubRecord* StubPool::build(const StubParts& parts, std::string* reason) {
  Chunk* chunk = chunk_for(parts.site->address);
  if (!chunk) {
    *reason = "no memory for a stub within 2 GiB of the function";
    return nullptr;
  }
  StubRecord made;
  uint8_t* out = chunk->shadow + chunk->used;
  if (const char* why = assemble(parts, chunk->base + chunk->used, out, &made)) {
    *reason = why;
    return nullptr;
  }
  const uint32_t index = chunk->record_count;
  PB_CHECK_VALUES(index < chunk->size / kAlign && made.size, index, made.address);
  // stub_at() looks for an address among the records by halves.
  PB_CHECK_VALUES(index == 0 || chunk->records[index - 1].address < made.address, index,
                  made.address);
  auto* record = new (&chunk->records[index]) StubRecord(made);
  __atomic_store_n(&chunk->record_count, index + 1, __ATOMIC_RELEASE);
  chunk->used += (record->size + kAlign - 1) & ~(kAlign - 1);
  PB_CHECK_VALUES(chunk->used <= chunk->size, chunk->used, chunk->size);
  return record;
}

// Whether the stub is what would be assembled of these parts. Of a plain one the prologue says it:
// behind that stand the same instructions of the site, as long as it has them (describe_site() in
// patcher.cc).
bool StubPool::consists_of(const StubRecord& stub, const StubParts& parts) const {
  static uint8_t bytes[kMaxStub];  // the control thread's
  const Site& site = *parts.site;
  const auto* code = reinterpret_cast<const void*>(stub.address);
  if (stub.count != site_count(site)) return false;
  if (is_plain(parts) && stub.is_plain) {
    const StubPrologue& prologue = *parts.prologue[0];
    if (stub.displaced != site_size(site) || stub.shape[0] != prologue.shape ||
        std::memcmp(stub.offset, site.boundary, sizeof stub.offset) != 0)
      return false;
    const size_t size = prologue(bytes, kMaxPrologue, stub.address);
    return size == stub.body && std::memcmp(bytes, code, size) == 0;
  }
  StubRecord again;
  if (assemble(parts, stub.address, bytes, &again)) return false;
  return again.size == stub.size && std::memcmp(bytes, code, again.size) == 0;
}

StubRecord* StubPool::find_parked(const StubParts& parts) const {
  int tried = 0;
  for (StubRecord* stub = parts.site->stubs; stub && tried < 4; stub = stub->older, tried++)
    if (consists_of(*stub, parts)) return stub;
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

}  // namespace patchbay
