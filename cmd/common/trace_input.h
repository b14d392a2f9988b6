// SPDX-License-Identifier: MIT
// What report and dump read: a trace.dat, a buffer file, or a directory that holds one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmd/common/buffer_source.h"
#include "output/address_names.h"
#include "output/merge.h"
#include "ring_buffer/buffer_file.h"
#include "trace_dat/metadata.h"
#include "trace_dat/trace_dat_read.h"

namespace patchbay::cmd {

// The rings of a buffer file up to where they stand now, so that reading a live one ends.
class BufferPages : public PageSource {
 public:
  BufferPages(std::unique_ptr<BufferFile> file, const ClockLine& line);
  size_t nr_cpus() const override { return file_->nr_rings(); }
  bool next_page(size_t index, PageImage* out) override;
  uint64_t to_ns(uint64_t time) const override { return line_.to_ns(time); }

 private:
  std::unique_ptr<BufferFile> file_;
  ClockLine line_;
  std::vector<uint64_t> last_seq_;
  std::vector<bool> done_;
};

// Several sources as one: CPUs of the same number stand beside each other.
class JoinedPages : public PageSource {
 public:
  explicit JoinedPages(std::vector<std::unique_ptr<PageSource>> sources);
  size_t nr_cpus() const override { return rings_.size(); }
  uint32_t cpu_number(size_t index) const override {
    return rings_[index].source->cpu_number(rings_[index].index);
  }
  bool next_page(size_t index, PageImage* out) override {
    return rings_[index].source->next_page(rings_[index].index, out);
  }
  uint64_t to_ns(uint64_t time) const override { return sources_.front()->to_ns(time); }

 private:
  struct Ring {
    PageSource* source;
    size_t index;
  };
  std::vector<std::unique_ptr<PageSource>> sources_;
  std::vector<Ring> rings_;
};

// Exactly one of `dat` and `buffer` is set.
struct TraceInput {
  std::string path;
  BufferSource source;
  std::unique_ptr<TraceDatReader> dat;
  std::unique_ptr<BufferFile> buffer;  // source.top

  // Fails when a buffer file has gone or was damaged since.
  Result<std::unique_ptr<PageSource>> pages(size_t buffer_index) const;
  size_t nr_buffers() const { return dat ? dat->buffers().size() : source.parts.size(); }
  std::string buffer_name(size_t index) const;  // "": the top one
  // The buffer of the kernel's events (record -k); those are told with the top one's.
  std::optional<size_t> kernel_buffer() const;
  Result<std::unique_ptr<PageSource>> top_and_kernel_pages() const;
  // What is shown as one: that for the first buffer, pages() for the others.
  Result<std::unique_ptr<PageSource>> shown_pages(size_t buffer) const {
    return buffer == 0 ? top_and_kernel_pages() : pages(buffer);
  }
};

// Opens a file of either kind. The error is a sentence that says what the file is instead.
Result<TraceInput> open_trace_input(const std::string& path);

}  // namespace patchbay::cmd
