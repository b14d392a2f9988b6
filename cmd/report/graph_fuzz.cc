// SPDX-License-Identifier: MIT
// Any format with any record as a call, any text as trace_stat: no read beyond the end, no hang.
#include <cstring>

#include "cmd/report/call_pairing.cc"   // the tool is no library
#include "cmd/report/call_tree.cc"      // NOLINT
#include "cmd/report/graph_records.cc"  // NOLINT

using namespace patchbay;
using namespace patchbay::cmd;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  size_t end = text.find('\0');
  if (end == text.npos) return 0;
  auto format = parse_format("ftrace", text.substr(0, end));
  if (!format.ok()) return 0;
  GraphDecoder decoder({*format}, [](uint64_t time) { return time; });
  CallTreeBuilder builder(size % 2 == 0);
  CallPairing pairing(&builder);
  GraphRecord record;
  uint64_t ns = 0;
  for (size_t at = end + 1; at < size;) {
    size_t length = std::min<size_t>(data[at] % 96, size - at - 1);
    std::vector<uint8_t> bytes(data + at + 1, data + at + 1 + length);  // its own end
    if (length >= 2) std::memcpy(bytes.data(), &format->id, 2);
    MergedEvent event;
    event.ns = ns += 100;
    event.record = bytes;
    if (decoder.decode(event, &record)) pairing.take(record);
    at += 1 + length;
  }
  pairing.finish();
  for (auto& [tid, tree] : builder.trees()) {
    (void)tree.flat();
    (void)tree.callers([](uint64_t func) { return func % 2 == 0; });
    (void)tree.below([](uint64_t func) { return func % 3 == 0; });
  }
  return 0;
}
