// SPDX-License-Identifier: MIT
#include "base/unpacked_bytes.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace patchbay {
namespace {

std::atomic<uint64_t> held_bytes{0};  // a sum alone: nothing is published by it

}  // namespace

uint64_t UnpackedBytes::most() {
  constexpr uint64_t kMost = uint64_t{4} << 30;
  const uint64_t memory = uint64_t(::sysconf(_SC_PHYS_PAGES)) * uint64_t(::sysconf(_SC_PAGESIZE));
  return std::min(kMost, memory / 4);
}

std::optional<UnpackedBytes> UnpackedBytes::take(uint64_t bytes, uint64_t most) {
  uint64_t held = held_bytes.load(std::memory_order_relaxed);
  do {
    if (held > most || bytes > most - held) return std::nullopt;
  } while (!held_bytes.compare_exchange_weak(held, held + bytes, std::memory_order_relaxed));
  UnpackedBytes taken;
  taken.bytes_ = bytes;
  return taken;
}

void UnpackedBytes::keep(uint64_t bytes) {
  const uint64_t kept = std::min(bytes, bytes_);
  held_bytes.fetch_sub(bytes_ - kept, std::memory_order_relaxed);
  bytes_ = kept;
}

}  // namespace patchbay
