// SPDX-License-Identifier: MIT
// What report, dump and recover read: a trace.dat, a buffer file, or a directory that holds one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "output/address_names.h"
#include "output/merge.h"
#include "ring_buffer/buffer_file.h"
#include "trace_dat/metadata.h"
#include "trace_dat/trace_dat_read.h"

namespace patchbay::cmd {

// The rings of a buffer file up to where they stand now, so that reading a live one ends.
class BufferPages : public PageSource {
 public:
  explicit BufferPages(std::unique_ptr<BufferFile> file);
  size_t nr_cpus() const override { return file_->nr_rings(); }
  bool next_page(size_t index, PageImage* out) override;
  uint64_t to_ns(uint64_t time) const override { return line_.to_ns(time); }
  BufferFile& file() { return *file_; }

 private:
  std::unique_ptr<BufferFile> file_;
  ClockLine line_;
  std::vector<uint64_t> last_seq_;
  std::vector<bool> done_;
};

// Exactly one of the two is set.
struct TraceInput {
  std::string path;
  std::unique_ptr<TraceDatReader> dat;
  std::unique_ptr<BufferFile> buffer;

  // Fails when a buffer file has gone or was damaged since.
  Result<std::unique_ptr<PageSource>> pages(size_t buffer_index) const;
  size_t nr_buffers() const { return dat ? dat->buffers().size() : 1; }
};

// Opens a file of either kind. The error is a sentence that says what the file is instead.
Result<TraceInput> open_trace_input(const std::string& path);

// The buffer files meant by a path: itself, PATH/buffer, or those of all processes of a runtime
// directory.
Result<std::vector<std::string>> find_buffer_files(const std::string& path);

}  // namespace patchbay::cmd
