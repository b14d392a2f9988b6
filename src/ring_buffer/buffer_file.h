// SPDX-License-Identifier: MIT
//
// Readers of a buffer file (abi/buffer_abi.h), of a live process, a dead one, or a hostile one
// (G6): every offset and length is checked against what is really there before use. The file is
// read with pread() only: a file that is cut short under our hands gives short reads, never a
// SIGBUS, and a value that was checked cannot change afterwards. (The process that owns the buffer
// reads its own mapping instead: over_memory.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "abi/buffer_abi.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "ring_buffer/ring_position.h"

namespace patchbay {

struct RingStats {
  uint64_t entries = 0;       // ever published
  uint64_t dropped = 0;       // since the last clear
  uint64_t dropped_ever = 0;  // also across clears and other sizes
  uint64_t oldest_seq = 0, current_seq = 0;
};

// One sub-buffer copied out, in the kernel's layout, ready for trace.dat: commit word set (with
// bits 31/30 and the count when events were lost before it), zeros behind the data.
struct PageImage {
  std::vector<uint8_t> bytes;  // subbuf_size
  uint64_t seq = 0;
  uint64_t lost_before = 0;  // events lost between the page delivered before and this one
  uint32_t used = 0;         // bytes of events
  uint64_t entries = 0;      // events in this image
  uint32_t offset = 0;       // bytes of events of its sub-buffer that stand before it …
  uint64_t first = 0;        // … and events of the ring
};

class BufferFile {
 public:
  // Maps `path`. EINVAL with a sentence when it is not a buffer file of this version, or damaged.
  // Reading begins where the last consumer or `clear` left off. `consume`: opens for writing too;
  // what next_page() delivers is then gone for all readers.
  static Result<std::unique_ptr<BufferFile>> open(const std::string& path, bool consume);
  // The same over a descriptor that the agent sent.
  static Result<std::unique_ptr<BufferFile>> from_fd(UniqueFd fd, bool consume);
  // Over a mapping that stays as long as this. Never consumes by itself.
  static Result<std::unique_ptr<BufferFile>> over_memory(std::span<const uint8_t> bytes);
  ~BufferFile();

  const abi::BufferHeader& header() const { return header_; }  // a validated copy made at open
  uint32_t nr_rings() const { return header_.nr_rings; }
  RingStats stats(uint32_t ring) const;
  uint64_t recursion() const;
  uint64_t unhooked() const;
  uint64_t missed() const;

  std::vector<abi::ClockPair> clock_pairs() const;  // in order of time
  std::vector<abi::CommEntry> comms() const;        // complete ones, in order
  struct Text {
    uint64_t address;
    std::string text;
  };
  std::vector<Text> printk_texts() const;  // complete ones, in order
  struct Meta {
    uint32_t type;
    std::string payload;
  };
  Result<std::vector<Meta>> meta() const;  // the published meta log

  // Next sub-buffer of a ring that is complete (a newer one exists); with `include_current` also
  // the one being written (whole events of it only; a later call delivers only what came after).
  // Returns false when there is none now. Consuming readers publish their progress, behind 128 KiB
  // at the latest, and when they end.
  bool next_page(uint32_t ring, bool include_current, PageImage* out);
  // Where the next page begins, as far as is known now; `lost` counts from the start of reading.
  RingPosition position(uint32_t ring) const {
    RingPosition position = rings_[ring].next;
    position.entries = std::max(position.entries, rings_[ring].known);
    return position;
  }
  // Goes on from there, which must be a place that was delivered up to.
  void go_to(uint32_t ring, const RingPosition& position) { rings_[ring].next = position; }
  // The first `entries` events of the ring are known already.
  void skip_to(uint32_t ring, uint64_t entries) { rings_[ring].known = entries; }
  // True once the buffer got another size: there is another file of this name, and nothing new
  // comes here. Events are counted on: a reader that opens that one goes on without a gap with
  // skip_to(ring, position(ring).entries of this).
  bool replaced() const;

 private:
  // Complete sub-buffers that were copied together: most of what a reader costs is system calls.
  struct Run {
    uint64_t seq = 0;      // of the first one
    uint64_t version = 0;  // of the ReaderState that was adopted
    std::vector<abi::PageMeta> metas;
    std::unique_ptr<uint8_t[]> bytes;
    bool has(uint64_t wanted) const { return wanted >= seq && wanted - seq < metas.size(); }
  };
  struct Ring {
    uint32_t nr_subbufs = 0;
    uint64_t page_meta_offset = 0, data_offset = 0;
    bool started = false;
    uint64_t known = 0;  // skip_to
    RingPosition next;   // how far the reader has come; next.entries: what is missing was lost
    Run run;
    uint64_t to_tell = 0;        // of next: lost events that are not published yet …
    bool has_come_on = false;  // … and whether it is not published at all
  };
  struct Current;  // what publish says now
  BufferFile() = default;

  Status load_header(const std::string& name);
  const char* load_rings();
  bool read_at(uint64_t offset, void* to, size_t size) const;
  bool read_current(uint32_t ring, Current* out) const;
  abi::ReaderState read_state(uint32_t ring) const;
  void adopt_position(uint32_t ring, const Current& current);
  enum class Copy { kCopied, kOverrun, kDamaged };
  Copy copy_subbuf(uint32_t ring, uint64_t seq, PageImage* out, abi::PageMeta* meta) const;
  std::optional<uint64_t> copy_run(uint32_t ring, uint64_t seq, const Current& current);
  bool next_of_run(uint32_t ring, PageImage* out);
  bool deliver(uint32_t ring, uint64_t seq, uint32_t used, bool complete, const abi::PageMeta& meta,
               PageImage* out);
  void publish_progress(uint32_t ring);

  abi::BufferHeader header_{};
  UniqueFd fd_;
  std::span<const uint8_t> memory_;  // instead of fd_
  uint64_t file_size_ = 0;
  bool consume_ = false;
  std::vector<Ring> rings_;
};

// Walks the events of one sub-buffer image. Bounded by `used`; a malformed header ends the walk and
// sets malformed.
struct EventView {
  uint64_t time;                    // absolute, in the buffer's clock units
  std::span<const uint8_t> record;  // starts with RecordHeader
};
class EventIterator {
 public:
  EventIterator(std::span<const uint8_t> page, uint32_t used);
  bool next(EventView* out);
  bool malformed() const { return malformed_; }
  uint32_t position() const { return uint32_t(position_); }  // of the next header, in the page
  uint64_t time() const { return time_; }                    // of the last event

 private:
  std::span<const uint8_t> page_;
  uint64_t time_ = 0;
  size_t position_ = 0, end_ = 0;
  bool malformed_ = false;
};

// The commit word of an image of `used` bytes of events with `lost` events lost before it, and the
// stored count behind the data when there is room (the kernel's bits 31 and 30).
void store_commit(std::span<uint8_t> page, uint32_t used, uint64_t lost);
// The reverse, for pages of any origin: fills used, lost_before (kLostUnknown without a count) and
// entries of `image` from its bytes; everything behind a malformed event is cut off.
inline constexpr uint64_t kLostUnknown = ~uint64_t{0};
void read_commit(PageImage* image);

// TSC -> CLOCK_MONOTONIC by one line through the recorded pairs: ns = ((tsc - tsc0) * mult >>
// shift) + ns0. fit_clock() makes lines with tsc0 == 0 and ns0 an offset modulo 2^64, because that
// is the arithmetic of trace.dat's TSC2NSEC and OFFSET options: both ways of reading give the same
// nanosecond.
struct ClockLine {
  uint64_t tsc0 = 0, ns0 = 0;
  uint32_t mult = 1, shift = 0;
  uint64_t to_ns(uint64_t tsc) const;
  uint64_t to_tsc(uint64_t ns) const;  // the first one of this nanosecond
};
// ldexp() without libm, which the agent cannot count on in every process. `power` is below 64.
inline double times_power_of_two(double value, uint32_t power) {
  return value * double(uint64_t{1} << (power & 63));
}
ClockLine fit_clock(uint32_t clock, const std::vector<abi::ClockPair>& pairs);

}  // namespace patchbay
