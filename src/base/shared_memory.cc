// SPDX-License-Identifier: MIT
#include "base/shared_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <vector>

#include "base/agreed.h"
#include "base/check.h"
#include "base/possible_cpus.h"

namespace patchbay {

namespace {

constexpr size_t kLine = 64, kPage = 4096;
constexpr size_t kChunk = 64 * 1024;

// The reserve has room for a few hundred histograms of the usual size, and for tables with a row
// for each CPU. It takes address space only. In a program with a limit of that it is as small as
// can be.
constexpr size_t kReserve = 64 << 20, kReservePerCpu = 1 << 20, kLeastReserve = kChunk;

struct Chunk {
  uint8_t* at = nullptr;
  size_t left = 0;
};

size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) & ~(to - 1); }

uint8_t* map_shared(size_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<uint8_t*>(at);
}

bool has_limit() {
  rlimit limit;
  return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// How much of the reserve is used. It stands at the reserve's start: a child that goes its own way
// has to know what its parent has taken since the fork.
struct Marks {
  size_t small;  // from the start
  size_t large;  // and from the end, in pages
};

struct Reserve {
  std::mutex lock;
  uint8_t* start = nullptr;
  size_t size = 0;
  Chunk chunk;  // when it is used up

  void make() {
    if (size) return;
    size = has_limit() ? kLeastReserve : kReserve + possible_cpus() * kReservePerCpu;
    start = map_shared(size);
    if (!start) start = map_shared(size = kLeastReserve);
    if (start) marks().small = round_up(sizeof(Marks), kLine);
  }
  Marks& marks() const { return *reinterpret_cast<Marks*>(start); }
  size_t left() const {
    if (!start) return 0;
    PB_CHECK_VALUES(marks().small + marks().large <= size, marks().small, marks().large);
    return size - marks().small - marks().large;
  }
};

// Never freed; made when it is asked for.
Reserve& reserve() {
  static auto& made = *new Reserve;
  return made;
}

uint8_t* take_from_chunk(Chunk* chunk, size_t bytes) {
  if (chunk->left < bytes) {
    const size_t wanted = bytes > kChunk / 4 ? round_up(bytes, kPage) : kChunk;
    uint8_t* made = map_shared(wanted);
    if (!made || wanted != kChunk) return made;  // the rest of the chunk is for small ones
    *chunk = {made, wanted};
  }
  uint8_t* at = chunk->at;
  chunk->at += bytes;
  chunk->left -= bytes;
  return at;
}

void* private_memory(size_t bytes) {
  return std::memset(::operator new(bytes, std::align_val_t(kLine)), 0, bytes);
}

// Pages that nobody has touched stay without memory.
void copy_touched(uint8_t* to, uint8_t* from, size_t size) {
  std::vector<unsigned char> touched(size / kPage, 1);
  (void)::mincore(from, size, touched.data());
  for (size_t page = 0; page < touched.size(); page++)
    if (touched[page] & 1) std::memcpy(to + page * kPage, from + page * kPage, kPage);
}

}  // namespace

void* shared_forever(size_t bytes) {
  bytes = round_up(bytes, kLine);
  if (is_forked_child()) return private_memory(bytes);
  Reserve& all = reserve();
  std::lock_guard guard(all.lock);
  all.make();
  if (bytes <= all.left()) {
    uint8_t* at = all.start + all.marks().small;
    all.marks().small += bytes;
    return at;
  }
  uint8_t* at = take_from_chunk(&all.chunk, bytes);
  return at ? at : private_memory(bytes);
}

void* shared_pages(size_t bytes) {
  bytes = round_up(bytes, kPage);
  Reserve& all = reserve();
  std::lock_guard guard(all.lock);
  all.make();
  if (is_forked_child() || bytes > all.left()) return map_shared(bytes);
  all.marks().large += bytes;
  return all.start + all.size - all.marks().large;
}

bool is_shared_with_running(const void* at) {
  const Reserve& all = reserve();
  const auto* byte = static_cast<const uint8_t*>(at);
  return all.start && byte >= all.start && byte < all.start + all.size;
}

Status leave_shared_memory() {
  Reserve& all = reserve();
  std::lock_guard guard(all.lock);
  if (!all.start) return {};
  if (all.chunk.at)
    return user_error(ENOMEM,
                      "there is no memory of its own for what the process shares with its parent");
  uint8_t* made = map_shared(all.size);
  if (!made) return sys_error("map memory", errno);
  const size_t small = std::min(round_up(all.marks().small, kPage), all.size);
  std::memcpy(made, all.start, small);
  copy_touched(made + small, all.start + small, all.size - small);
  // At once for all threads.
  if (::mremap(made, all.size, all.size, MREMAP_MAYMOVE | MREMAP_FIXED, all.start) != MAP_FAILED)
    return {};
  const int error = errno;
  ::munmap(made, all.size);
  return sys_error("map memory", error);
}

SharedPlace agree_on_shared(size_t bytes, std::string_view what, std::string_view name) {
  const uint64_t key = note_key(what, name);
  if (is_forked_child()) {
    void* const there = reinterpret_cast<void*>(noted(key).value_or(0));
    if (!is_shared_with_running(there)) return {private_memory(round_up(bytes, kLine)), true};
    return {there, false};
  }
  void* at = shared_forever(bytes);
  if (is_shared_with_running(at)) note(key, reinterpret_cast<uint64_t>(at));
  return {at, true};
}

}  // namespace patchbay
