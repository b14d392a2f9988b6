// SPDX-License-Identifier: MIT
//
// The text of `trace`, `trace_pipe` and `snapshot`: events of one instance, all CPUs or one, merged
// by time, made piece by piece as a reader asks for it, so that a large buffer never stands in
// memory as text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "event/trace_array.h"
#include "output/address_names.h"
#include "ring_buffer/ring_reader.h"

namespace patchbay {

// What the printer of a process knows; shared by all open files, rebuilt when `generation` moves.
struct TraceTextSources {
  std::function<std::vector<const EventCall*>()> events;
  uint64_t generation = 0;
  AddressNames* names = nullptr;
  std::function<std::vector<abi::CommEntry>()> comms;
  std::function<std::vector<abi::ClockPair>()> clock_pairs;
};

class TraceText {
 public:
  enum class Mode : uint8_t {
    kTrace,  // header, not consuming
    kPipe,   // no header, consuming, at most 4096 bytes per read
  };
  TraceText(const TraceTextSources& sources, const TraceArray& array, RingBuffer* buffer, Mode mode,
            std::optional<uint32_t> cpu);
  ~TraceText();
  // The next whole lines, at most `size` bytes (one line at least). "": the end (kTrace), nothing
  // now (kPipe).
  std::string next(size_t size);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
