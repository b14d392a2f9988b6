// SPDX-License-Identifier: MIT
//
// Writing a trace.dat whose pages come in the order of the file: buffer by buffer, CPU by CPU. So
// they are written once, at their places. In front of them is room for the head, which is known at
// the end. If it is too small, the pages are moved.
//
//   head (room) | pages of CPU 0, 1, … | lead of buffer 1 | its pages | …
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/output_file.h"
#include "base/result.h"
#include "trace_dat/trace_dat_layout.h"
#include "trace_dat/trace_dat_write.h"

namespace patchbay {

class TraceDatAppender {
 public:
  // Empties `file`, which lives as long. `metadata` is as finish() gets it, but for about `more`
  // bytes that are not known yet. A full disk is an error here if not even the head has room.
  static Result<std::unique_ptr<TraceDatAppender>> open(OutputFile* file,
                                                        const TraceDatOptions& options,
                                                        const TraceDatMetadata& metadata,
                                                        uint64_t more);
  // Pages that do not fit are counted, as those behind them until there is room again.
  void append_page(uint32_t buffer, uint32_t cpu, const PageImage& page);
  // To be called once. The file is valid afterwards, whatever did not fit.
  Result<TraceDatResult> finish(const TraceDatMetadata& metadata);

 private:
  TraceDatAppender() = default;
  Status reserve(uint64_t from, uint64_t size);
  uint64_t lead_room(const TraceDatArea& area) const;
  void go_to(uint32_t buffer, uint32_t cpu);
  void flush();
  Status make_room(uint64_t more);
  Status drop_pages(uint64_t bytes);
  Status write(uint64_t offset, const std::string& bytes);

  TraceDatOptions options_;
  OutputFile* file_ = nullptr;
  uint64_t room_ = 0;  // for the head
  uint64_t end_ = 0;   // behind the last page that was written
  std::vector<TraceDatArea> areas_;
  uint32_t buffer_ = 0, cpu_ = 0;
  std::string chunk_;             // pages to be written at end_
  std::vector<uint32_t> events_;  // … and how many events each has
  TraceDatResult result_;
};

}  // namespace patchbay
