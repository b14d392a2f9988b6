// SPDX-License-Identifier: MIT
// The writer's side of a buffer file: making and sizing it, and the meta log. The hot part is
// ring_write_hot.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "abi/buffer_abi.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "ring_buffer/ring_set.h"

namespace patchbay {

struct RingBufferOptions {
  std::string path;      // file to make (0600, O_EXCL)
  uint32_t nr_cpus = 1;  // possible CPUs
  uint32_t subbuf_size = 4096;
  uint64_t bytes_per_cpu = 1408 * 1024;
  bool overwrite = true;
  abi::CommTable* comms = nullptr;  // of the top instance; null: this buffer's own
};

// Counts of one ring since the last clear, as per_cpu/cpuN/stats shows them.
struct RingCounts {
  uint64_t entries = 0;  // that a reader still finds
  uint64_t overrun = 0;  // overwritten unread
  uint64_t bytes = 0;    // of the sub-buffers that a reader still finds
  uint64_t oldest_time = 0, now_time = 0;  // raw clock; oldest 0: empty
  uint64_t dropped = 0;
  uint64_t read = 0;  // consumed
};

// Where a reader stands in one ring. The buffer keeps one per ring: what lies before it was consumed
// (trace_pipe) or cleared, and no reader sees it any more. It is in the file (ReaderPage), so that
// readers of other processes and of dead ones see the same.
struct RingPosition {
  uint64_t seq = 0;      // sub-buffer
  uint32_t offset = 0;   // bytes of its events that lie before the position
  uint64_t time = 0;     // of the last event before it, when offset > 0
  uint64_t entries = 0;  // events of the ring before it
};

class RingBuffer {
 public:
  // Makes the file at its full (sparse) size and maps it. Memory is reserved (posix_fallocate) for
  // the rings at expand(); ENOSPC is reported there, never as a SIGBUS in a traced thread.
  static Result<std::unique_ptr<RingBuffer>> create(const RingBufferOptions& options);
  ~RingBuffer();

  // What programs write to. Changes with resize(): the owner of the programs then points them to
  // the new one (old sets stay mapped, with their memory given back, because a thread may be late).
  const RingSet* rings() const { return set_; }
  // A set that takes nothing: EventProgram.rings of an event that is switched off.
  static const RingSet* dead_rings();
  abi::BufferHeader* header() { return set_->header; }

  // Reserves the memory of all rings ("expanded"). Until then the buffer shows its minimal size.
  Status expand();
  bool expanded() const { return expanded_; }
  // tracing_on and tracing_cpumask: which rings take events. The ring for threads without rseq takes
  // them while any CPU does. enable() expands.
  Status enable();
  void disable();
  bool enabled() const { return enabled_; }
  void set_cpus(const std::vector<bool>& cpus);  // missing ones: off

  // Waits until no thread is inside a publish that began before the call (membarrier RSEQ; the
  // locked ring's lock).
  void quiesce();

  // --- size. The records stay: the newest that fit. `cpu` empty: all. ENOMEM, EINVAL as the kernel.
  // EBUSY rules are the caller's. After success rings() is another one.
  Status resize(std::optional<uint32_t> cpu, uint64_t bytes);
  Status set_subbuf_size(uint32_t bytes);  // a power of two; clears
  uint64_t bytes_of(uint32_t cpu) const;   // of useful data: nr_subbufs - 1 sub-buffers' data, as kernel
  void set_overwrite(bool on);

  // --- reading (ring_reader.h)
  RingPosition position(uint32_t ring) const;             // readers begin here
  void consume(uint32_t ring, const RingPosition& upto);  // never backwards
  void clear(std::optional<uint32_t> cpu = {});           // consumes everything, resets the counts
  RingCounts counts(uint32_t ring) const;
  bool has_data(uint32_t ring) const;        // something behind position()
  uint64_t unread_percent(uint32_t ring) const;  // for buffer_percent: 0..100 of the ring's sub-buffers

  // Publishes a record from the control side (markers, inject): on the CPU the caller runs on, under
  // rseq like any other writer.
  int publish(const uint8_t* record, uint32_t size);

  void add_clock_pair();
  Status append_meta(uint32_t type, std::string_view payload);  // published when it returns
  // A thread's comm, when it was learned elsewhere (the writer of a marker).
  void add_comm(uint32_t tid, uint32_t tgid, std::string_view comm);
  // The owning process ends. Recording goes on: other exit handlers and threads may still run.
  void close_cleanly();
  const std::string& path() const { return path_; }
  // Between calls the file is not kept open, so that the program's descriptor numbers stay its own.
  // A thread with a descriptor table of its own may keep it (it then survives a chroot of the
  // program).
  void hold_file();

  // The spare buffer of `snapshot`: a file of the same form beside this one. take_snapshot() moves
  // everything that a reader would find now into it (copied page by page like any reader, so
  // writers are not disturbed) and clears this buffer; what was overwritten while copying is counted
  // as lost there.
  Status take_snapshot(std::unique_ptr<RingBuffer>* spare, std::optional<uint32_t> cpu);
};

}  // namespace patchbay
