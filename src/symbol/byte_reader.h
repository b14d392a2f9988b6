// SPDX-License-Identifier: MIT
//
// Checked reading of foreign bytes. The span bounds every read. The reader fails for good at the
// first read that does not fit, so a parser may test ok() once at the end of a group.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace patchbay {

class ByteReader {
 public:
  explicit ByteReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  size_t position() const { return position_; }
  size_t remaining() const { return ok_ ? bytes_.size() - position_ : 0; }

  // Zero when the value does not fit; unaligned values are fine.
  template <typename T>
  T read() {
    T value{};
    if (remaining() < sizeof value) {
      ok_ = false;
      return value;
    }
    std::memcpy(&value, bytes_.data() + position_, sizeof value);
    position_ += sizeof value;
    return value;
  }

  void skip(uint64_t count) {
    if (remaining() < count) {
      ok_ = false;
      return;
    }
    position_ += count;
  }

  // The next `count` bytes; empty when there are fewer.
  std::span<const uint8_t> take(uint64_t count) {
    const size_t from = position_;
    skip(count);
    return ok_ ? bytes_.subspan(from, count) : std::span<const uint8_t>();
  }

  uint64_t uleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      uint8_t byte = read<uint8_t>();
      if (shift < 64) value |= uint64_t(byte & 0x7f) << shift;
      if (!(byte & 0x80)) return value;
    }
    ok_ = false;
    return 0;
  }

  int64_t sleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      uint8_t byte = read<uint8_t>();
      if (shift < 64) value |= uint64_t(byte & 0x7f) << shift;
      if (byte & 0x80) continue;
      if (shift + 7 < 64 && (byte & 0x40)) value |= ~uint64_t{0} << (shift + 7);
      return int64_t(value);
    }
    ok_ = false;
    return 0;
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace patchbay
