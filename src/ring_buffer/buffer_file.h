// SPDX-License-Identifier: MIT
//
// Readers of a buffer file (abi/buffer_abi.h), of a live process, a dead one, or a hostile one (G6):
// every offset and length is checked against what is really there before use.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "abi/buffer_abi.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace patchbay {

struct RingStats {
  uint64_t entries = 0;   // ever published
  uint64_t dropped = 0;
  uint64_t oldest_seq = 0, current_seq = 0;
};

// One sub-buffer copied out, in the kernel's layout, ready for trace.dat: commit word set (with bits
// 31/30 and the count when events were lost before it), zeros behind the data.
struct PageImage {
  std::vector<uint8_t> bytes;   // subbuf_size
  uint64_t seq = 0;
  uint64_t lost_before = 0;     // events lost between the page delivered before and this one
  uint32_t used = 0;            // bytes of events
  uint64_t entries = 0;         // events in this image
};

class BufferFile {
 public:
  // Maps `path`. EINVAL with a sentence when it is not a buffer file of this version, or damaged.
  // `consume`: opens for writing the reader page too, needed to consume in drop mode.
  static Result<std::unique_ptr<BufferFile>> open(const std::string& path, bool consume);
  // The same over a descriptor that the agent sent.
  static Result<std::unique_ptr<BufferFile>> from_fd(UniqueFd fd, bool consume);
  ~BufferFile();

  const abi::BufferHeader& header() const { return header_; }  // a validated copy made at open
  uint32_t nr_rings() const { return header_.nr_rings; }
  RingStats stats(uint32_t ring) const;
  uint64_t recursion() const;
  uint64_t missed() const;

  std::vector<abi::ClockPair> clock_pairs() const;               // in order of time
  std::vector<abi::CommEntry> comms() const;                     // complete ones, in order
  struct Meta { uint32_t type; std::string payload; };
  Result<std::vector<Meta>> meta() const;                        // the published meta log

  // Next sub-buffer of a ring that is complete (a newer one exists); with `include_current` also the
  // one being written (whole events of it only; a later call delivers only what came after).
  // Returns false when there is none now. Consuming readers publish their progress.
  bool next_page(uint32_t ring, bool include_current, PageImage* out);

 private:
  BufferFile() = default;
  struct Ring;
  abi::BufferHeader header_{};
  Mapping mapping_;
  UniqueFd fd_;
  bool consume_ = false;
  std::vector<Ring> rings_;
};

// Walks the events of one sub-buffer image. Bounded by `used`; a malformed header ends the walk and
// sets malformed.
struct EventView {
  uint64_t time;                     // absolute, in the buffer's clock units
  std::span<const uint8_t> record;   // starts with RecordHeader
};
class EventIterator {
 public:
  EventIterator(std::span<const uint8_t> page, uint32_t used);
  bool next(EventView* out);
  bool malformed() const { return malformed_; }

 private:
  std::span<const uint8_t> page_;
  uint64_t time_ = 0;
  size_t position_ = 0, end_ = 0;
  bool malformed_ = false;
};

// TSC -> CLOCK_MONOTONIC by one line through the recorded pairs: ns = ((tsc - tsc0) * mult >> shift) + ns0.
struct ClockLine {
  uint64_t tsc0 = 0, ns0 = 0;
  uint32_t mult = 1, shift = 0;
  uint64_t to_ns(uint64_t tsc) const;
};
ClockLine fit_clock(uint32_t clock, const std::vector<abi::ClockPair>& pairs);

}  // namespace patchbay
