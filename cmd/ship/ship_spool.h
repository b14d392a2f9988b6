// SPDX-License-Identifier: MIT
//
// What waits for a server: segments, each a trace.dat of some seconds of one process.
//
//   SPOOL/lock                  one shipper at a time
//   SPOOL/NAME.part/            is being written; after a death its events are still in the rings
//   SPOOL/NAME/{data,meta}      whole: data is a trace.dat, meta says how far the rings were read
//   SPOOL/NAME/meta             there was no room: only the number of its events is left
//   SPOOL/PROCESS.state         the meta of the last one that was shipped
//
//   NAME     SOURCE-PID, SOURCE 20 digits: the number of the source, in order of time
//   PROCESS  PID-START, START when its buffer was made, in ns
//
// Each step is one rename, so a shipper that is killed goes on where it was: the rings from
// the last whole segment, the segments from the first that is there, the server from what it has.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace patchbay::cmd {

struct SegmentMeta {
  uint64_t source = 0;
  int pid = 0;
  uint64_t start = 0;    // BufferHeader::start_realtime_ns
  uint64_t events = 0;   // in its data
  bool dropped = false;  // they are no longer there
  int64_t wall_ns = 0;   // when it was closed
  // By instance and ring: events that were read of it, and what it had dropped.
  struct Ring {
    uint64_t entries = 0, dropped = 0;
  };
  std::map<std::pair<std::string, uint32_t>, Ring> rings;

  std::string text() const;
  std::string process() const { return std::to_string(pid) + "-" + std::to_string(start); }
};
// Foreign bytes: EINVAL for what is none.
Result<SegmentMeta> parse_segment_meta(std::string_view text);

struct Segment {
  std::string directory;
  SegmentMeta meta;
  uint64_t bytes = 0;  // of its data; 0: it has none
  std::string data() const { return directory + "/data"; }
};

class ShipSpool {
 public:
  // Makes the directory, 0700. EBUSY with a sentence: another shipper has it.
  static Result<std::unique_ptr<ShipSpool>> open(const std::string& directory, uint64_t most_bytes);

  // Where the next segment of a process is written: an empty directory.
  Result<std::string> begin(uint64_t source, int pid) const;
  // It is whole from now on.
  Status close(const std::string& part, const SegmentMeta& meta) const;
  void abandon(const std::string& part) const;
  // The whole ones, the oldest first.
  std::vector<Segment> segments() const;
  // Shipped, and gone.
  Status done(const Segment& segment) const;
  // While there is more than the bound the oldest ones lose their data. How many events that were.
  uint64_t keep_bound() const;
  // The one that is being shipped keeps its data. 0: none. May be called from another thread.
  void hold(uint64_t source) { held_ = source; }
  // How far a process was read, by whatever is there of it; nothing: never.
  std::map<std::pair<std::string, uint32_t>, SegmentMeta::Ring> rings_of(
      const std::string& process) const;
  // A number for the next source: greater than all before.
  uint64_t next_source();
  uint64_t bytes() const;

 private:
  ShipSpool() = default;
  std::string directory_;
  uint64_t most_bytes_ = 0, last_source_ = 0;
  std::atomic<uint64_t> held_{0};
  UniqueFd lock_;
};

}  // namespace patchbay::cmd
