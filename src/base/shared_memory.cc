// SPDX-License-Identifier: MIT
#include "base/shared_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <mutex>

namespace patchbay {

namespace {

constexpr size_t kLine = 64;
constexpr size_t kChunk = 64 * 1024;

struct Chunk {
  uint8_t* at = nullptr;
  size_t left = 0;
};

uint8_t* map_shared(size_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<uint8_t*>(at);
}

}  // namespace

void* shared_forever(size_t bytes) {
  static std::mutex lock;
  static Chunk chunk;
  bytes = (bytes + kLine - 1) & ~(kLine - 1);
  std::lock_guard guard(lock);
  if (chunk.left < bytes) {
    const size_t wanted = bytes > kChunk / 4 ? (bytes + 4095) & ~size_t{4095} : kChunk;
    uint8_t* made = map_shared(wanted);
    if (!made) return std::memset(::operator new(bytes, std::align_val_t(kLine)), 0, bytes);
    if (wanted != kChunk) return made;  // the rest of the chunk is for small ones
    chunk = {made, wanted};
  }
  uint8_t* at = chunk.at;
  chunk.at += bytes;
  chunk.left -= bytes;
  return at;
}

}  // namespace patchbay
