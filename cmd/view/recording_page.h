// SPDX-License-Identifier: MIT
// From what `patchbay report` takes, or the buffers of a running process, to the data of a page.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "export/export_source.h"

namespace patchbay::cmd {

struct PageChoice {
  std::string input = "trace.dat";
  std::string title;  // empty: the name of the file
  ExportChoice choice;
  size_t rows = 1000000;  // at most
};

struct RecordingPage {
  std::string path;     // of what was read
  std::string payload;  // for write_page()
  uint64_t records = 0;
  size_t rows = 0;
  bool is_cut = false;  // the page has the first rows only
};

// With a line of progress in a terminal, when it takes long.
Result<RecordingPage> page_of(const PageChoice& choice);

}  // namespace patchbay::cmd
