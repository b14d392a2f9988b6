// SPDX-License-Identifier: MIT
//
// The text of `trace`, `trace_pipe` and `snapshot`: events of one instance, all CPUs or one, merged
// by time, made piece by piece as a reader asks for it, so that a large buffer never stands in
// memory as text.
//
//   rings --next_page()--> EventMerger --an event--> columns, EventText --a line--> next()
//                                                                 consume() <---------'
//
// `trace` ends with the events of the moment of its first line: a program that records faster than
// somebody reads cannot keep a reader for ever. trace_pipe consumes exactly the lines that it has
// given; what it has copied and not shown yet is dropped when someone else clears or consumes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "event/call_arguments.h"
#include "event/trace_array.h"
#include "output/address_names.h"
#include "output/printk_text.h"
#include "output/trace_clock_convert.h"
#include "output/trace_feed.h"
#include "ring_buffer/ring_reader.h"

namespace patchbay {

// What the printer of a process knows; shared by all open files. Printers look at `generation` at
// each read and ask for the events again when it has moved. Records of events that are gone are
// shown by what was known of them.
struct TraceTextSources {
  std::function<std::vector<const EventCall*>()> events;
  uint64_t generation = 0;
  AddressNames* names = nullptr;
  ArgumentsOf arguments_of;  // may be empty
  std::function<std::vector<abi::CommEntry>()> comms;
  std::function<TraceClockConvert(TraceClock)> clock;  // the same times for all, for good
  PrintkTexts* printk = nullptr;  // may be null
};

class TraceText {
 public:
  enum class Mode : uint8_t {
    kTrace,  // header, not consuming
    kPipe,   // no header, consuming, at most 4096 bytes per read
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
