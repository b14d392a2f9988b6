// SPDX-License-Identifier: MIT
// `go tool pprof` reads whole profiles in tests/scripts/export_judges.sh.
#include "export/pprof/pprof_profile.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace patchbay {
namespace {

std::string hex(std::string_view bytes) {
  return hex_bytes(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

TEST(PprofProfile, GoldenBytes) {
  PprofProfile profile(std::vector<PprofProfile::ValueType>{{"calls", "count"}});
  const uint32_t main = profile.frame(0x10, [] { return "m"; });
  const uint32_t f = profile.frame(0x20, [] { return "f"; });
  EXPECT_EQ(profile.frame(0x10, [] { return "never asked"; }), main);
  const uint32_t node = profile.child(profile.child(PprofProfile::kRoot, main), f);
  profile.add(node, 0, 300);
  EXPECT_EQ(
      hex(profile.encode()),
      "0a 04 08 03 10 04"               // calls, count
      " 12 08 0a 02 02 01 12 02 ac 02"  // f from m: 300; m itself has nothing
      " 22 08 08 01 18 10 22 02 08 01"  // a location: number, address, function
      " 2a 06 08 01 10 01 18 01"        // a function: number, names
      " 22 08 08 02 18 20 22 02 08 02"
      " 2a 06 08 02 10 02 18 02"
      " 5a 04 08 03 10 04 60 01 70 03"  // the kind of the period, 1, the usual value
      " 32 00 32 01 6d 32 01 66 32 05 63 61 6c 6c 73 32 05 63 6f 75 6e 74 32 05 65 76 65 6e 74");
}

TEST(PprofProfile, TheTreeHasABound) {
  PprofProfile profile(std::vector<PprofProfile::ValueType>{{"calls", "count"}}, 3);
  uint32_t node = PprofProfile::kRoot;
  for (uint64_t i = 0; i < 10; i++)
    node = profile.child(node, profile.frame(i, [&] { return std::to_string(i); }));
  EXPECT_EQ(profile.nodes(), 3u);
  EXPECT_EQ(profile.cut_stacks(), 8u);
  EXPECT_EQ(node, 2u);  // what is there of it
}

}  // namespace
}  // namespace patchbay
