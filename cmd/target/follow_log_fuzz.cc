// SPDX-License-Identifier: MIT
// Any bytes as the log of followed programs, whole and in two pieces: no read beyond the end, and
// both give the same.
#include <cstdint>

#include "base/check.h"
#include "cmd/target/follow_log.cc"  // the tool is no library

using namespace patchbay;
using namespace patchbay::cmd;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t cut = data[0] % size;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<FollowSaid> whole, pieces;
  const std::optional<size_t> taken = take_follow_records(bytes, &whole);
  if (taken) PB_CHECK(*taken <= bytes.size());
  const std::optional<size_t> first = take_follow_records(bytes.substr(0, cut), &pieces);
  if (first) (void)take_follow_records(std::string_view(bytes).substr(*first), &pieces);
  PB_CHECK(pieces.size() == whole.size());
  for (const FollowSaid& said : whole) {
    if (!said.texts.empty()) (void)said.words();
    PB_CHECK(said.comm.size() <= sizeof(abi::FollowRecord::comm));
  }
  return 0;
}
