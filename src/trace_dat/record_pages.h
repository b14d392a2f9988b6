// SPDX-License-Identifier: MIT
// Records of one CPU as pages of a trace.dat, in the kernel's layout.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ring_buffer/buffer_file.h"

namespace patchbay {

class RecordPages {
 public:
  using Sink = std::function<void(const PageImage&)>;
  RecordPages(uint32_t page_size, Sink sink) : page_size_(page_size), sink_(std::move(sink)) {}

  // `time` never goes back. False: the record is larger than a page.
  bool add(uint64_t time, std::span<const uint8_t> record);
  // The record that add() took last, in its page: to change what is in it.
  uint8_t* last() { return page_.bytes.data() + last_; }
  // So many were lost before the record that comes next (kLostUnknown: some).
  void lose(uint64_t events);
  void flush();

 private:
  void begin(uint64_t time);
  void put(const void* bytes, size_t size);

  const uint32_t page_size_;
  Sink sink_;
  PageImage page_;
  uint64_t time_ = 0, lost_ = 0;
  uint32_t last_ = 0;
};

}  // namespace patchbay
