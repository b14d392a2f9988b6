// SPDX-License-Identifier: MIT
// What report and dump read: a trace.dat, a buffer file, or a directory that holds one.
#pragma once

#include <memory>
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
};

// Opens a file of either kind. The error is a sentence that says what the file is instead.
Result<TraceInput> open_trace_input(const std::string& path);

}  // namespace patchbay::cmd
