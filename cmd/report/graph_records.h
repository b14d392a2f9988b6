// SPDX-License-Identifier: MIT
//
// The records that call graphs are made of, out of the pages of a trace.dat or buffer file, ours or
// a kernel's. The fields are found by their names in the formats, and nothing is read beyond a
// record's end.
//
//   funcgraph_entry, funcgraph_retaddr_entry   a function was entered
//   funcgraph_exit                             it returned, and how long it took
//   function                                   it was called (tracer `function`)
//   kernel_stack, user_stack                   the stack behind the record before it
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "event/event_call.h"
#include "output/merge.h"

namespace patchbay::cmd {

struct GraphRecord {
  enum class Kind : uint8_t { kOther, kEntry, kExit, kFunction, kStack };
  Kind kind = Kind::kOther;
  int32_t tid = 0;
  uint64_t ns = 0;           // when it was written
  uint64_t func = 0;         // not of a stack
  uint64_t parent = 0;       // of a function
  uint32_t depth = 0;        // of entry and exit
  uint64_t duration_ns = 0;  // of an exit
  uint64_t retval = 0;       // of an exit
  bool has_retval = false;
  std::span<const uint8_t> args;  // of an entry: the recorded words, valid as long as its record
  std::vector<uint64_t> frames;   // of a stack, the innermost first
};

class GraphDecoder {
 public:
  // Ticks of calltime and rettime to nanoseconds; only differences of it are used.
  using ToNs = std::function<uint64_t(uint64_t)>;
  GraphDecoder(const std::vector<EventCall>& events, ToNs to_ns);

  // False when the record is too short for what its format says.
  bool decode(const MergedEvent& event, GraphRecord* out) const;

 private:
  struct Field {
    uint32_t offset = 0, size = 0;  // size 0: the format does not have it
  };
  struct Layout {
    GraphRecord::Kind kind = GraphRecord::Kind::kOther;
    Field func, parent, depth, calltime, rettime, retval, frames, args;
  };
  static Layout layout_of(const EventCall& event);
  static bool take_frames(const Layout& layout, std::span<const uint8_t> record, GraphRecord* out);

  std::vector<Layout> layouts_;
  std::vector<uint16_t> by_id_;  // index + 1
  Field pid_{4, 4};
  ToNs to_ns_;
};

}  // namespace patchbay::cmd
