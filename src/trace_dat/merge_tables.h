// SPDX-License-Identifier: MIT
// What merged files have in common: numbers of events, names of functions, texts of printk.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "trace_dat/process_images.h"
#include "trace_dat/trace_dat_read.h"
#include "trace_dat/trace_dat_write.h"

namespace patchbay {

// How the records of a file become ones of the merged file.
struct MergedIds {
  std::vector<uint16_t> ids;          // by its own id; 0: it has no format of this id
  std::vector<uint16_t> text_offset;  // by its own id: where a printk text's address is; 0: nowhere
  bool operator==(const MergedIds&) const = default;
};

// Formats with the same system and text share an id. An event keeps the id of its file where that
// is free. Events of one name and different formats stay apart, each with its id; both keep their
// name, because readers find the format of a record by its id, and choose events by their name.
class MergedFormats {
 public:
  Result<std::shared_ptr<const MergedIds>> add(const TraceDatReader& file);
  // An event that the merged file has of its own; its number.
  Result<uint16_t> add(const EventCall& event) { return id_of(event, event.format_text(), false); }
  std::vector<TraceDatMetadata::Format> take_formats() { return std::move(formats_); }
  // "system:name" of the events that have several definitions.
  std::vector<std::string> several() const;

 private:
  Result<uint16_t> id_of(const EventCall& event, const std::string& text, bool is_kernel);
  std::unordered_map<std::string, uint16_t> by_text_;
  std::map<std::string, uint32_t> definitions_;  // by "system:name"
  std::vector<bool> used_ = std::vector<bool>(65536, false);
  std::vector<TraceDatMetadata::Format> formats_;
  std::vector<std::shared_ptr<const MergedIds>> known_;  // most files are alike
};

// Whether the file has events of the kernel, whose numbers go down from 65535; then the lowest one.
uint32_t lowest_kernel_id(const TraceDatReader& file);  // 65536: none

// Two images may have different functions at one address. kallsyms, which trace-cmd reads, has that
// of the image that came first; an image that is named otherwise somewhere gets names of its own.
class MergedNames {
 public:
  // An image whose addresses these are; `own` stand before those of `kallsyms`.
  void add(std::string_view kallsyms, const std::vector<ImageName>& own = {});
  // By image, in their order; to be called once, before text().
  std::vector<std::vector<ImageName>> differences();
  std::string text() const;

 private:
  struct Range {
    uint64_t start, end;
    uint32_t line;  // in lines_; the part of a kallsyms line behind its address
  };
  struct Common {
    uint64_t end;
    uint32_t line;
  };
  uint32_t line_of(std::string_view text);
  std::string_view name_of(uint32_t line) const;
  void insert(const Range& range);
  const std::pair<const uint64_t, Common>* common_at(uint64_t address) const;
  bool agrees(const Range& range) const;

  std::vector<const std::string*> lines_;
  std::unordered_map<std::string, uint32_t> line_numbers_;
  std::vector<std::vector<Range>> images_;
  std::map<uint64_t, Common> common_;
};

// A text that another file has at the same address gets another address.
class MergedTexts {
 public:
  // The addresses of this file that are others in the merged file.
  std::unordered_map<uint64_t, uint64_t> add(std::string_view printk_formats);
  const std::string& text() const { return text_; }

 private:
  std::unordered_map<uint64_t, std::string> texts_;
  std::unordered_map<std::string, uint64_t> moved_;  // by text
  uint64_t next_ = 0x1000;
  std::string text_;
};

}  // namespace patchbay
