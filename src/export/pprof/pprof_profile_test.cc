// SPDX-License-Identifier: MIT
// `go tool pprof` reads whole profiles in tests/scripts/export_judges.sh.
#include "export/pprof/pprof_profile.h"

#include <gtest/gtest.h>
#include <zlib.h>

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

TEST(Gzip, GivesItsBytesBack) {
  for (const size_t size : {0u, 1u, 100000u}) {
    std::string bytes(size, 'x'), back(size + 1, '\0');
    const std::string packed = gzip(bytes);
    EXPECT_EQ(hex(packed.substr(0, 2)), "1f 8b");
    z_stream stream{};
    ASSERT_EQ(inflateInit2(&stream, MAX_WBITS | 16), Z_OK);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = uInt(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(back.data());
    stream.avail_out = uInt(back.size());
    EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
    EXPECT_EQ(back.substr(0, stream.total_out), bytes);
    inflateEnd(&stream);
  }
}

}  // namespace
}  // namespace patchbay
