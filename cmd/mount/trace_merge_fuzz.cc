// SPDX-License-Identifier: MIT
// Any bytes as what processes give to a mount of all: nothing is lost, nothing is doubled. Two
// bytes before each piece say from whom it comes, and its size.
#include "cmd/mount/trace_merge.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cmd/mount/merged_text.cc"  // the tool is no library
#include "cmd/mount/trace_merge.cc"  // NOLINT

namespace {

using patchbay::cmd::TraceMerge;
constexpr size_t kSources = 3;

size_t letters(std::string_view text) {
  size_t count = 0;
  for (const char c : text) count += c == 'z';
  return count;
}

// Without what the merge may add or put together: only z are counted, which no head line of ours
// has.
void run(TraceMerge::Of of, std::string_view bytes) {
  TraceMerge merge(of);
  for (size_t i = 0; i < kSources; i++) merge.add_source(int(i), "a");
  size_t given = 0, taken = 0;
  while (bytes.size() > 2) {
    const size_t source = uint8_t(bytes[0]) % kSources, size = uint8_t(bytes[1]);
    const bool more = uint8_t(bytes[0]) & 0x80;
    const std::string_view piece = bytes.substr(2, size);
    bytes.remove_prefix(2 + piece.size());
    // A comment is shown once for all.
    given += letters(piece);
    merge.feed(source, piece, more);
    taken += letters(of == TraceMerge::Of::kTrace ? merge.take() : merge.end_round());
    if (taken > given) std::abort();
  }
  for (size_t i = 0; i < kSources; i++) merge.end(i);
  for (int round = 0; round < 3; round++)
    taken += letters(of == TraceMerge::Of::kTrace ? merge.take() : merge.end_round());
  if (merge.holds_something() || !merge.all_ended()) std::abort();
  if (of == TraceMerge::Of::kPipe && taken != given) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  run(TraceMerge::Of::kTrace, bytes);
  run(TraceMerge::Of::kPipe, bytes);
  std::vector<patchbay::cmd::ProcessText> texts(2);
  texts[0].text = bytes.substr(0, size / 2);
  texts[1].text = bytes.substr(size / 2);
  for (const char* path : {"set_event", "events/enable", "trace_clock"})
    (void)patchbay::cmd::merge_texts(path, texts);
  return 0;
}
