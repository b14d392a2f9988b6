// SPDX-License-Identifier: MIT
#include "symbol/structors.h"

#include <gtest/gtest.h>

#include <string>

namespace patchbay {
namespace {

// `nop`, then `first`, then a jump to 0x2000 as a function at 0x1000.
std::string goes_on(std::string first) {
  const int32_t distance = 0x2000 - 0x1000 - int32_t(1 + first.size() + 5);
  return "\x90" + first + "\xe9" +
         std::string(reinterpret_cast<const char*>(&distance), sizeof distance);
}

// The symbols of those of two functions that lead to the other one.
std::string ways(const char* first, const std::string& code, const char* second,
                 const std::vector<PltEntry>& stubs = {}) {
  const std::vector<StructorCode> both = {{first, 0x1000, code}, {second, 0x2000, "\xc3"}};
  std::string found;
  for (size_t way : ways_to_structors(both, [&] { return stubs; })) found += both[way].symbol;
  return found;
}

TEST(WaysToStructors, ByNameAndCode) {
  const std::string jump = goes_on(""), other = goes_on("\x90") + "\xc3";
  std::string calls = goes_on("\x53"), elsewhere = jump;
  calls[2] = '\xe8';
  elsewhere[2]++;
  EXPECT_EQ(ways("_ZN1CC1Ei", jump, "_ZN1CC4Ei"), "_ZN1CC1Ei");
  EXPECT_EQ(ways("_ZN1CC2Ei", calls, "_ZN1CC4Ei.isra.0"), "_ZN1CC2Ei");
  EXPECT_EQ(ways("_ZN1CD0Ev", other, "_ZN1CD1Ev"), "_ZN1CD0Ev");
  EXPECT_EQ(ways("_ZN1CCI11BEi", jump, "_ZN1CCI21BEi"), "_ZN1CCI11BEi");
  // It goes elsewhere; it is the last one; another overload, class, or kind of function.
  EXPECT_EQ(ways("_ZN1CC1Ei", elsewhere, "_ZN1CC4Ei"), "");
  EXPECT_EQ(ways("_ZN1CC4Ei", jump, "_ZN1CC1Ei"), "");
  EXPECT_EQ(ways("_ZN1CC1Ei", jump, "_ZN1CC4Ej"), "");
  EXPECT_EQ(ways("_ZN1CC1Ei", jump, "_ZN1BC4Ei"), "");
  EXPECT_EQ(ways("_ZN1C2C1Ev", jump, "_ZN1C2C4Ev"), "_ZN1C2C1Ev");  // nobody can call one C4
  EXPECT_EQ(ways("_ZN1C2x1Ev", jump, "_ZN1C2x4Ev"), "");
  EXPECT_EQ(ways("C1", jump, "C4"), "");
  EXPECT_EQ(ways("_ZN1CC1Ei", "", "_ZN1CC4Ei"), "");
  EXPECT_EQ(ways("_ZN1CC1Ei", jump + std::string(1000, '\x90'), "_ZN1CC4Ei"), "");
}

TEST(WaysToStructors, ByAShortJumpAndByAStub) {
  EXPECT_EQ(ways("_ZN1CC1Ei", "\x90\xeb\x7f", "_ZN1CC4Ei"), "");
  const std::vector<StructorCode> near = {{"_ZN1CC1Ei", 0x1000, "\x90\xeb\x7f"},
                                          {"_ZN1CC4Ei", 0x1082, "\xc3"}};
  EXPECT_EQ(ways_to_structors(near, [] { return std::vector<PltEntry>(); }),
            std::vector<size_t>{0});
  std::string to_stub = goes_on("");
  const std::vector<PltEntry> stubs = {{0x2000, 16, "_ZN1CD1Ev"}};
  const std::vector<StructorCode> both = {{"_ZN1CD0Ev", 0x1000, to_stub},
                                          {"_ZN1CD2Ev", 0x3000, "\xc3"}};
  EXPECT_EQ(ways_to_structors(both, [&] { return stubs; }), std::vector<size_t>{0});
}

}  // namespace
}  // namespace patchbay
