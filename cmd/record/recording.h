// SPDX-License-Identifier: MIT
//
// Copies a buffer file that a program writes into a trace.dat, while the program runs. It takes
// complete sub-buffers in turns from each CPU, counts them, and keeps counting when the disk is
// full. When the buffer gets another size it goes on with the new file, event for event.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "ring_buffer/buffer_file.h"
#include "trace_dat/metadata.h"
#include "trace_dat/trace_dat_write.h"
#include "uprobes/kernel_events.h"

namespace patchbay::cmd {

struct RingCounts {
  uint64_t events = 0;       // taken from the buffer
  uint64_t overwritten = 0;  // lost before they were taken
  uint64_t dropped = 0;      // never recorded: the ring was full, or off
};

// A buffer to record. The top one is always there, as it has what decodes the others. When another
// one without a name stands in for it, the events of the top one are not wanted.
struct RecordedBuffer {
  std::string instance;  // "": the top one, or what stands in for it
  std::unique_ptr<BufferFile> file;
  std::string path;      // where it is found again when it was replaced
  bool consume = false;  // as it was opened
  bool wanted = true;    // false: its events stay where they are
  // By ring: events that a full ring had dropped when it was read last (RingStats::dropped_ever),
  // for who goes on. Empty: all since the last clear count.
  std::vector<uint64_t> dropped_before = {};
};

// The kernel's events beside a recording; their buffer stands behind the others in the file.
struct KernelPart {
  std::unique_ptr<KernelEvents> events;  // null: none
  uint64_t buffer_kb = 0;
  bool overwrite = true;
};

class Recording {
 public:
  // Makes (or empties) the output. The top buffer comes first. `version`: of trace.dat, 6 or 7.
  static Result<std::unique_ptr<Recording>> open(std::vector<RecordedBuffer> buffers,
                                                 const std::string& path, int version,
                                                 KernelPart kernel = {});
  static Result<std::unique_ptr<Recording>> open(std::vector<RecordedBuffer> buffers,
                                                 OutputFile file, int version,
                                                 KernelPart kernel = {});
  // Null: there are none. Whose events it gets, and its start, are the caller's.
  KernelEvents* kernel() const { return kernel_.get(); }
  // Makes one turn over all CPUs. It is bounded, so that a fast writer cannot keep us. Returns how
  // full the fullest ring was, in percent of its sub-buffers: 0 means that nothing was there.
  unsigned drain();
  // Events that were defined since the start: to be called now and then.
  void refresh_events();
  // The last turn: also the sub-buffers that are being written. Then writes the file.
  Result<TraceDatResult> finish();

  const std::vector<RingCounts>& counts() const { return counts_; }    // by ring, of all buffers
  const BufferFile& buffer() const { return *buffers_.front().file; }  // the top one
  uint64_t events() const;
  uint64_t events_of(uint16_t id) const { return addresses_.events_of(id); }
  uint64_t published() const;  // also those that were not taken yet, or are lost
  uint64_t lost() const;
  uint64_t ring_bytes() const;  // of one CPU, in the smallest of the buffers
  uint64_t missed() const;      // hits that no buffer could take
  uint64_t recursion() const;   // hits inside the agent
  uint64_t unhooked() const;    // calls whose return was left alone
  uint64_t bytes() const { return writer_->bytes_spooled(); }
  // When it is finished: the buffers, which stand behind what was taken, for the next recording.
  std::vector<RecordedBuffer> take_buffers();
  // The first refusal of the disk. Recording goes on; finish() has the figures.
  const Status& disk() const { return disk_; }
  // Why a buffer of another size could not be followed: nothing of it was recorded since.
  const Status& followed() const { return followed_; }
  // Why something of ours is left in the kernel's tracefs.
  const Status& kernel_left() const { return kernel_left_; }

 private:
  Recording() = default;
  void follow(uint32_t buffer);
  void drain_all(uint32_t buffer);
  Status open_kernel(KernelPart kernel, uint32_t buffer, uint32_t page_size);
  Status finish_kernel(TraceDatMetadata* metadata);
  uint32_t drain_ring(uint32_t buffer, uint32_t ring, bool include_current, uint32_t limit);
  void keep(uint32_t buffer, uint32_t ring, const PageImage& page);
  void keep_in_pieces(uint32_t buffer, uint32_t ring, const PageImage& page);
  void add_up();

  std::vector<RecordedBuffer> buffers_;
  std::vector<uint32_t> output_;                      // its number in the output, by buffer
  std::vector<uint32_t> page_size_;                   // in the output, by buffer
  std::vector<std::vector<RingCounts>> by_buffer_;    // and ring
  std::vector<std::vector<uint64_t>> early_dropped_;  // what dropped_ever counts too much
  std::unique_ptr<TraceDatWriter> writer_;
  std::unique_ptr<KernelEvents> kernel_;
  std::vector<RingCounts> counts_;
  AddressCollector addresses_{{}};
  PageImage page_, piece_;
  Status disk_, followed_, kernel_left_;
};

// The output's lock: two recordings into one file would spoil each other. It is taken before the
// program starts, so a place that cannot be written is an error at that time. A file that did not
// exist is removed again unless keep() was called.
class OutputLock {
 public:
  static Result<std::unique_ptr<OutputLock>> take(const std::string& path);
  ~OutputLock();
  void keep() { remove_ = false; }

 private:
  OutputLock() = default;
  OutputFile file_;
  bool remove_ = false;
};

}  // namespace patchbay::cmd
