// SPDX-License-Identifier: MIT
//
// libFuzzer: any bytes as a format file. What is accepted must survive being written and read
// again.
#include <cstdlib>

#include "event/event_call.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace patchbay;
  auto first = parse_format("fuzz", {reinterpret_cast<const char*>(data), size});
  if (!first.ok()) return 0;
  auto second = parse_format("fuzz", first->format_text());
  if (!second.ok() ||
      second->fields.size() + second->common.size() !=
          first->fields.size() + first->common.size() ||
      second->format_text() != first->format_text())
    std::abort();
  return 0;
}
