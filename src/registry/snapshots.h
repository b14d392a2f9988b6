// SPDX-License-Identifier: MIT
//
// The spare buffers of instances (docs/files.md, "snapshot"), and those that were freed while
// somebody read them. Registry::snapshots() hands it out. Under the agent's lock. A forked child
// takes none: the snapshot is its parent's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "registry/registry.h"

namespace patchbay {

class Snapshots {
 public:
  explicit Snapshots(Registry::Impl& core) : core_(core) {}

  // The file `snapshot`: 0 frees, 1 allocates and takes, any other value clears; of one CPU only
  // the last (EINVAL). 1 is EBUSY if memory is needed while `trace` or `snapshot` is open for
  // reading. What is freed while somebody reads it stays until the reader has closed.
  Status write(TraceArray& array, std::optional<uint32_t> cpu, uint64_t value);
  // Takes one into the spare buffer, even where snapshots are conditional.
  Status take(TraceArray& array);
  // Makes the spare buffer, empty, if there is none.
  Status allocate(TraceArray& array);

  // Carries out what a hit has asked for: the snapshot of that moment (ring_buffer/ring_cut.h).
  // Every function that shows or changes a buffer or a snapshot calls it first. Where the spare
  // buffer is gone it does what refuse() does.
  void take_cut(TraceArray& array);
  void take_cuts();  // of all instances
  // Says in the buffer that there is no spare one, and switches recording off, as the kernel does.
  void refuse(TraceArray& array);

  void forget(const TraceArray& array);  // The instance goes.

 private:
  void free_unread();

  Registry::Impl& core_;
  std::vector<std::pair<TraceArray*, std::unique_ptr<RingBuffer>>> freed_;
};

}  // namespace patchbay
