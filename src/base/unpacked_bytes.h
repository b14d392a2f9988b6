// SPDX-License-Identifier: MIT
//
// A file of some kilobytes may unpack to gigabytes, and a process may have many such files. What
// this process holds unpacked at one time has one bound, whichever library unpacks it.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

namespace patchbay {

// The right to hold that many bytes, which is given back at the end. Safe for threads.
class UnpackedBytes {
 public:
  // What debug information may take: a quarter of the machine's memory, and 4 GiB at most.
  static uint64_t most();
  // Nothing: all that is held would be more than `most` bytes with these.
  static std::optional<UnpackedBytes> take(uint64_t bytes, uint64_t most);

  UnpackedBytes() = default;
  UnpackedBytes(UnpackedBytes&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
  UnpackedBytes& operator=(UnpackedBytes&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~UnpackedBytes() { keep(0); }
  void add(UnpackedBytes more) { bytes_ += std::exchange(more.bytes_, 0); }
  void keep(uint64_t bytes);  // gives back what is more than these

 private:
  uint64_t bytes_ = 0;
};

}  // namespace patchbay
