// SPDX-License-Identifier: MIT
//
// The events of one CPU of one buffer, each with the stack that was recorded with it: a
// kernel_stack or user_stack of the same thread that comes next in the ring. So the stream is one
// event ahead.
// The current event and the one ahead may lie in different pages, so it has two.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "export/export_schema.h"
#include "output/event_text.h"
#include "output/merge.h"

namespace patchbay {

// What one input says of one number of events.
struct ExportFormat {
  struct Place {
    uint32_t offset = 0, size = 0;
    bool read(std::span<const uint8_t> record, uint64_t* out) const;  // 0 where there is none
  };
  ExportFormat(const EventCall& event, const ExportSchema* schema);

  const EventCall* call;
  const ExportSchema* schema;
  Place func, parent, depth, calltime, rettime, retval, args, frames, nr_frames;
  bool is_user_stack = false;
  std::unique_ptr<EventText> text;  // made at the first use
};

class ExportFormats {
 public:
  void add(const EventCall& event, const ExportSchema* schema);
  ExportFormat* find(std::span<const uint8_t> record);

 private:
  std::vector<ExportFormat> formats_;
  std::vector<uint16_t> by_id_;  // index + 1
};

class ExportStream {
 public:
  // `of_rings`: the calls' times in the records are ticks.
  ExportStream(PageSource* pages, size_t index, ExportFormats* formats, bool of_rings)
      : source_(pages), index_(index), formats_(formats), of_rings_(of_rings) {}

  // The next event becomes the current one. False at the end.
  bool advance();
  uint64_t ns() const { return current_.ns; }
  uint64_t lost() const { return current_.lost; }
  std::span<const uint8_t> record() const { return current_.record; }
  std::span<const uint64_t> stack() const { return stack_; }
  uint32_t kernel_frames() const { return kernel_frames_; }
  uint32_t records() const { return records_; }  // of the current event, with its stacks
  uint32_t cpu() const { return source_->cpu_number(index_); }
  uint32_t damaged_pages() const { return damaged_pages_; }

  uint32_t input = 0, buffer = 0;

 private:
  struct Event {
    uint64_t ns = 0, lost = 0;
    std::span<const uint8_t> record;
    uint32_t page = 0;
  };
  bool fetch(Event* out);
  bool load_page();
  bool attach(const Event& stack);
  void take_frames(const ExportFormat& format, std::span<const uint8_t> record);

  PageSource* source_;
  size_t index_;
  ExportFormats* formats_;
  bool of_rings_;
  std::array<PageImage, 2> pages_;
  uint32_t reading_ = 0;  // the page that events_ walks over
  EventIterator events_{{}, 0};
  Event current_, ahead_;
  bool has_page_ = false, has_ahead_ = false, ended_ = false;
  uint64_t lost_ = 0;
  std::vector<uint64_t> stack_;
  uint32_t kernel_frames_ = 0, records_ = 0, damaged_pages_ = 0;
  bool has_kernel_stack_ = false, has_user_stack_ = false;
};

}  // namespace patchbay
