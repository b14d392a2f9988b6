// SPDX-License-Identifier: MIT
//
// The one iterator of all exporters: the events of one or several recordings in order of time, with
// their stacks and calls.
//
//   pages of (input, buffer, CPU) --ExportStream--> event with its stack ─┐ merged by time
//   pages of …                    --ExportStream--> …                    ─┴-> next()
//
// What next() gives is in memory, and the streams' pages: two a stream. Beyond that there is what
// grows with the number of threads. Bytes of files are checked before use (G6), whatever they say.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "event/call_arguments.h"
#include "export/export_event.h"
#include "export/who_choice.h"
#include "output/address_text.h"
#include "output/merge.h"
#include "trace_dat/trace_dat_read.h"

namespace patchbay {

// An opened recording: a trace.dat, or the buffer files of one process.
struct ExportInput {
  std::string path;
  const TraceDatReader* dat = nullptr;             // one of the two
  const BufferFile* buffer = nullptr;              // the top one, which decodes the others
  std::vector<std::string> names;                  // of buffers …
  std::vector<std::unique_ptr<PageSource>> pages;  // … and the pages of each
  // Of a function of an image (AddressNames::image()); may be empty.
  std::function<const CallArguments*(uint64_t function, uint32_t image)> arguments_of;
  std::shared_ptr<void> owner;  // keeps all of this
};

struct ExportChoice {
  // Events from here on, and up to here; relative ones count from the first event.
  uint64_t from_ns = 0, until_ns = ~uint64_t{0};
  bool from_is_relative = false, until_is_relative = false;
  // Globs of "event", "system:event" or "system"; none: all events.
  std::vector<std::string> events;
  // In the language of the filter files; events without its fields are left out. Empty: none.
  std::string filter;
  WhoChoice who;
};

class ExportSource {
 public:
  static Result<std::unique_ptr<ExportSource>> open(std::vector<ExportInput> inputs,
                                                    const ExportChoice& choice = {});
  ~ExportSource();

  const ExportMeta& meta() const;
  // All kinds of events that the files describe.
  const std::vector<std::unique_ptr<ExportSchema>>& schemas() const;

  // The only kind of events that was chosen; null where there are several.
  const ExportSchema* only_wanted() const;

  // The next event, in order of time. What it points to is valid until the next call; threads,
  // processes and schemas are valid as long as this. False at the end.
  bool next(ExportEvent* out);
  const ExportStats& stats() const;  // final when next() was false

  // Names of addresses as they are in the file, not escaped. The result of either is valid until
  // the next call.
  AddressText& addresses(const ExportEvent& event);
  AddressText& addresses_of_input(uint32_t input);
  // "main", "libc.so.6's name+0x…": frame `index` of the event's stack.
  const std::string& frame_name(const ExportEvent& event, size_t index);
  // Names and types of the recorded words of a call; null: not known.
  const CallArguments* arguments_of(const ExportEvent& event, uint64_t function);
  // The line of `report` behind the time, with what could harm a terminal escaped.
  void append_text(std::string* out, const ExportEvent& event);

 private:
  struct Impl;
  explicit ExportSource(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
