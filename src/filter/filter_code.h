// SPDX-License-Identifier: MIT
// Where the code of filters stands, and other code that may stand at any address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace patchbay {

// Executable bytes in a pool; given back when it goes. A filter's, or other code that stands at any
// address.
class FilterCode {
 public:
  using Entry = bool (*)(const uint8_t* record, uint32_t size);

  FilterCode() = default;
  // Copies the code to executable memory that is never writable at the same time. Empty when there
  // is none to be had.
  // `shape`: how far the return address is from the stack pointer in it (patch/stub_views.h).
  FilterCode(const uint8_t* code, size_t size, uint16_t shape = 0);
  FilterCode(FilterCode&& other) noexcept { *this = std::move(other); }
  FilterCode& operator=(FilterCode&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(size_, other.size_);
    std::swap(place_, other.place_);
    return *this;
  }
  ~FilterCode();

  uint64_t address() const { return address_; }  // 0: there is none
  Entry entry() const { return reinterpret_cast<Entry>(address_); }

 private:
  void place(const uint8_t* code, size_t size);

  uint64_t address_ = 0;
  size_t size_ = 0;
  size_t place_ = 0;  // 1 + index in the list that generated_code_at() reads; 0: none
};

// For unwinders, at any time: whether such code stands at `ip`, and by how much the return address
// is higher than the stack pointer there.
bool generated_code_at(uint64_t ip, uint16_t* moved);

}  // namespace patchbay
