// SPDX-License-Identifier: MIT
//
// The text of `trace`, `trace_pipe` and `snapshot`: the events of one instance, of all CPUs or one,
// merged by time. The text is made piece by piece as a reader asks for it, so a large buffer never
// stands in memory as text.
//
//   rings --next_page()--> EventMerger --an event--> columns, EventText --a line--> next()
//                                                                 consume() <---------'
//
// `trace` ends with the events of the moment of its first line: a program that records faster than
// its reader reads cannot keep the reader for ever. trace_pipe consumes exactly the lines that it
// has given. It drops events that it has copied, but not shown yet, when another reader clears or
// consumes them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "event/call_arguments.h"
#include "output/address_names.h"
#include "output/printk_text.h"
#include "output/trace_clock_convert.h"
#include "output/trace_feed.h"
#include "registry/trace_array.h"
#include "ring_buffer/ring_reader.h"

namespace patchbay {

// What the printer of a process knows; all open files share it. Printers look at `generation` at
// each read and ask for the events again when it has moved. The last known format shows the records
// of events that are gone.
struct TraceTextSources {
  std::function<std::vector<const EventCall*>()> events;
  uint64_t generation = 0;
  AddressNames* names = nullptr;
  ArgumentsOf arguments_of;  // may be empty
  std::function<std::vector<abi::CommEntry>()> comms;
  std::function<TraceClockConvert(TraceClock)> clock;  // the same times for all, for good
  PrintkTexts* printk = nullptr;                       // may be null
};

class TraceText {
 public:
  enum class Mode : uint8_t {
    kTrace,  // header, not consuming
    kPipe,   // no header, consuming, at most 124 KiB per read
  };
  // `sources`, `array` and `buffer` outlive it. `cpu`: the events of this ring only.
  TraceText(const TraceTextSources& sources, const TraceArray& array, RingBuffer* buffer, Mode mode,
            std::optional<uint32_t> cpu);
  TraceText(const TraceTextSources& sources, const TraceArray& array,
            std::unique_ptr<TraceFeed> feed, Mode mode, std::optional<uint32_t> cpu);
  ~TraceText();
  // The next whole lines, at most `size` bytes (one line at least). "": the end (kTrace), nothing
  // now (kPipe).
  std::string next(size_t size);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
