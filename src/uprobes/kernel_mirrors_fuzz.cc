// SPDX-License-Identifier: MIT
// A line of uprobe_events, or of a tool's list, whoever wrote it.
#include <cstdlib>
#include <string_view>

#include "uprobes/kernel_mirrors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  patchbay::KernelMirrorLine line;
  if (!patchbay::KernelMirrorLine::parse(text, &line)) return 0;
  if (text.find(line.event) == text.npos || text.find(line.place) == text.npos) std::abort();
  if (!line.is_same(line)) std::abort();
  return 0;
}
