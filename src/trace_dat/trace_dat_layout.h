// SPDX-License-Identifier: MIT
// Everything of a trace.dat but its pages, as bytes (version 6 and 7).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace_dat/trace_dat_write.h"

namespace patchbay {

// Where the pages of one buffer stand: of the top one first, then of instances.
struct TraceDatArea {
  std::string name;
  uint32_t page_size = 4096;
  // By CPU, in pages: room in the file, and what is listed of it.
  std::vector<uint64_t> reserved, present;
  // Filled by trace_dat_layout().
  std::vector<uint64_t> offsets;  // by CPU, in bytes from the file's start
  uint64_t section = 0;           // the part that leads to them
};
struct TraceDatPart {
  uint64_t offset = 0;
  std::string bytes;
};

// The same where the pages have their places already: offsets are set, and the sections of all
// buffers but the first one, whose section the head ends with. The lead is what stands in front of
// a buffer's pages.
std::string trace_dat_head(const TraceDatOptions& options, const TraceDatMetadata& metadata,
                           std::vector<TraceDatArea>* areas);
std::string trace_dat_lead(const TraceDatOptions& options, const TraceDatMetadata& metadata,
                           const TraceDatArea& area);

// The file from its start up to the first page; then for each instance the part in front of its
// pages.
std::vector<TraceDatPart> trace_dat_layout(const TraceDatOptions& options,
                                           const TraceDatMetadata& metadata,
                                           std::vector<TraceDatArea>* areas);

}  // namespace patchbay
