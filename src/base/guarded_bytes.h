// SPDX-License-Identifier: MIT
// For tests: bytes that end where a page begins that nobody may touch. One byte read or written
// behind them is a SIGSEGV, without any sanitizer; is_front_intact() finds what was written in
// front of them.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

namespace patchbay::test {

class GuardedBytes {
 public:
  explicit GuardedBytes(size_t capacity) : size_((capacity + 2 * kPage - 1) / kPage * kPage) {
    void* pages =
        ::mmap(nullptr, size_ + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) std::abort();
    pages_ = static_cast<uint8_t*>(pages);
    if (::mprotect(pages_ + size_, kPage, PROT_NONE) != 0) std::abort();
  }
  ~GuardedBytes() { ::munmap(pages_, size_ + kPage); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  // A copy of `bytes`, which ends at the forbidden page; the bytes of the call before are gone.
  std::span<uint8_t> put(std::span<const uint8_t> bytes) {
    if (bytes.size() > size_) std::abort();
    std::fill(pages_, pages_ + size_ - bytes.size(), kCanary);
    put_ = {pages_ + size_ - bytes.size(), bytes.size()};
    if (!bytes.empty()) std::memcpy(put_.data(), bytes.data(), bytes.size());
    return put_;
  }
  std::string_view put(std::string_view text) {
    put(std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
    return {reinterpret_cast<const char*>(put_.data()), put_.size()};
  }
  bool is_front_intact() const {
    return std::all_of(pages_, put_.data(), [](uint8_t byte) { return byte == kCanary; });
  }

 private:
  static constexpr size_t kPage = 4096;
  static constexpr uint8_t kCanary = 0xa5;
  const size_t size_;
  uint8_t* pages_ = nullptr;
  std::span<uint8_t> put_;
};

}  // namespace patchbay::test
