// SPDX-License-Identifier: MIT
// The description of a segment: read, or refused; what was read is written and read again the same.
#include <cstdint>
#include <cstdlib>

#include "cmd/ship/ship_spool.cc"  // the tool is no library

using namespace patchbay;
using namespace patchbay::cmd;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto meta = parse_segment_meta({reinterpret_cast<const char*>(data), size});
  if (!meta.ok()) return 0;
  auto again = parse_segment_meta(meta->text());
  if (!again.ok() || again->text() != meta->text()) std::abort();
  return 0;
}
