// SPDX-License-Identifier: MIT
//
// Reading a trace.dat of version 6 or 7: ours, trace-cmd's, a damaged or a hostile one. Sizes are
// checked against the file before memory is allocated, chains are bounded, and pages are read one
// at a time with pread().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "event/event_call.h"
#include "output/merge.h"
#include "trace_dat/process_images.h"

namespace patchbay {

class TraceDatReader {
 public:
  struct CpuData {
    uint32_t cpu = 0;
    uint64_t offset = 0, size = 0;  // size is cut to what the file holds
    bool cut = false;
  };
  struct Buffer {
    std::string name, clock;
    uint32_t page_size = 0;
    std::vector<CpuData> cpus;
  };
  struct Part {  // for dump: sections (version 7) or parts (version 6), and options
    std::string what;
    uint16_t id = 0;
    uint64_t offset = 0, size = 0;
    std::string body;  // of an option
  };
  static Result<std::unique_ptr<TraceDatReader>> open(const std::string& path);
  static Result<std::unique_ptr<TraceDatReader>> from_fd(UniqueFd fd, const std::string& name);

  int version() const { return version_; }
  uint32_t page_size() const { return page_size_; }
  const std::vector<EventCall>& events() const { return events_; }
  const std::string& format_text(size_t event) const { return format_texts_[event]; }
  uint32_t malformed_formats() const { return malformed_formats_; }
  const std::string& kallsyms() const { return kallsyms_; }
  const std::string& printk_formats() const { return printk_formats_; }
  const std::string& cmdlines() const { return cmdlines_; }
  const std::vector<std::string>& cpu_stats() const { return cpu_stats_; }
  const std::vector<Buffer>& buffers() const { return buffers_; }
  const std::vector<Part>& sections() const { return sections_; }
  const std::vector<Part>& options() const { return options_; }
  // Of a recording of several programs; else empty.
  const ProcessImages& images() const { return images_; }
  bool is_tsc() const { return mult_ != 0; }
  ClockLine clock_line() const { return {0, uint64_t(time_offset_), mult_ ? mult_ : 1, shift_}; }
  // Nanoseconds by the same arithmetic as trace-cmd: TSC2NSEC, then OFFSET.
  uint64_t to_ns(uint64_t time) const;

  // Page `number` of a CPU's area. False behind its end.
  bool read_page(const Buffer& buffer, const CpuData& cpu, uint64_t number, PageImage* out) const;

 private:
  class Cursor;
  TraceDatReader() = default;
  Error damaged(const std::string& what) const;
  Status load();
  Status load_v6(Cursor* cursor);
  Status load_v6_buffer(Cursor* cursor, const std::string& name);
  Status load_v7(Cursor* cursor);
  Status load_v7_options(uint64_t offset, uint64_t* next);
  Status load_v7_section(uint16_t id, uint64_t offset);
  Status load_event_formats(Cursor* cursor);
  Status load_formats(Cursor* cursor, const std::string& system);
  Status load_buffer_option(const std::string& body);
  void take_option(uint16_t id, const std::string& body);
  void clip(CpuData* cpu, uint32_t page_size) const;
  bool read_at(uint64_t offset, void* to, size_t size) const;

  std::string name_;
  UniqueFd fd_;
  uint64_t file_size_ = 0;
  int version_ = 0;
  uint32_t page_size_ = 0, cpu_count_ = 0;
  std::string compression_;
  std::vector<EventCall> events_;
  std::vector<std::string> format_texts_;  // of events_
  uint32_t malformed_formats_ = 0;
  std::string kallsyms_, printk_formats_, cmdlines_;
  std::vector<std::string> cpu_stats_;
  ProcessImages images_;
  std::vector<Buffer> buffers_;
  std::vector<Part> sections_, options_;
  uint32_t mult_ = 0, shift_ = 0;
  int64_t time_offset_ = 0;
  bool trace_clock_option_ = false;
};

// One buffer of a reader as a source of pages.
class TraceDatPages : public PageSource {
 public:
  TraceDatPages(const TraceDatReader* reader, const TraceDatReader::Buffer* buffer)
      : reader_(reader), buffer_(buffer), next_(buffer->cpus.size(), 0) {}
  size_t nr_cpus() const override { return buffer_->cpus.size(); }
  uint32_t cpu_number(size_t index) const override { return buffer_->cpus[index].cpu; }
  bool next_page(size_t index, PageImage* out) override {
    return reader_->read_page(*buffer_, buffer_->cpus[index], next_[index]++, out);
  }
  uint64_t to_ns(uint64_t time) const override { return reader_->to_ns(time); }

 private:
  const TraceDatReader* reader_;
  const TraceDatReader::Buffer* buffer_;
  std::vector<uint64_t> next_;
};

// What a file looks like from its first bytes: "an ELF file", "a compressed file (zstd)", or empty.
std::string describe_format(const uint8_t* start, size_t size);

}  // namespace patchbay
