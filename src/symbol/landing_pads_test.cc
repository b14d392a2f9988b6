// SPDX-License-Identifier: MIT
//
// Tables byte by byte, cut at every length; and this program's own, through its file.

#include "symbol/landing_pads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "symbol/symbol.h"

namespace patchbay {
namespace {

using Raw = std::vector<uint8_t>;
using Pads = std::vector<uint64_t>;

constexpr uint64_t kTable = 0x1000, kFunction = 0x2000;

Pads pads_of(const Raw& table, bool* good) {
  Pads pads;
  *good = add_landing_pads(table, kTable, kFunction, &pads);
  return pads;
}

TEST(LandingPads, TablesByteByByte) {
  const struct {
    const char* what;
    Raw table;
    bool good;
    Pads pads;
  } kCases[] = {
      {"uleb, no types", {0xff, 0xff, 0x01, 8, 1, 2, 0x10, 0, 5, 1, 0, 0}, true, {0x2010}},
      {"with types", {0xff, 0x9b, 0x21, 0x01, 4, 1, 2, 0x80, 0}, false, {}},
      {"long uleb", {0xff, 0xff, 0x01, 5, 1, 2, 0x80, 0x02, 0}, true, {0x2100}},
      {"udata4", {0xff, 0xff, 0x03, 13, 0, 0, 0, 0, 4, 0, 0, 0, 0x20, 0, 0, 0, 0}, true, {0x2020}},
      {"a base of its own", {0x1b, 0x0f, 1, 0, 0, 0xff, 1, 4, 0, 1, 4, 0}, true, {0x1114}},
      {"an unknown base", {0x3b, 0, 0, 0, 0, 0xff, 1, 0}, false, {}},
      {"no call sites", {0xff, 0xff, 0x01, 0}, true, {}},
      {"call sites that end in the middle of one",
       {0xff, 0xff, 1, 6, 1, 2, 3, 0, 1, 2, 3, 0},
       false,
       {0x2003}},
      {"more call sites than bytes", {0xff, 0xff, 1, 100, 1, 2, 3, 0}, false, {}},
      {"pc-relative call sites", {0xff, 0xff, 0x1b, 0}, false, {}},
      {"nothing", {}, false, {}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.what);
    bool good = false;
    EXPECT_EQ(pads_of(c.table, &good), c.pads);
    EXPECT_EQ(good, c.good);
  }
}

TEST(LandingPads, ACutTableIsRefusedAtEveryLength) {
  const Raw whole = {0x1b, 0x0f, 1, 0, 0, 0x9b, 0x21, 0x01, 9, 1, 2, 0x90, 1, 0, 1, 2, 0, 0};
  bool good = false;
  EXPECT_EQ(pads_of(whole, &good).size(), 1u);
  EXPECT_TRUE(good);
  for (size_t size = 0; size < whole.size(); ++size) {
    pads_of(Raw(whole.begin(), whole.begin() + ptrdiff_t(size)), &good);
    EXPECT_FALSE(good) << size;
  }
}

[[gnu::noinline]] int catches(int value) {
  try {
    if (value > 2) throw std::runtime_error("caught here");
  } catch (const std::runtime_error&) {
    return 1;
  }
  return 0;
}

TEST(LandingPads, ThisProgramsAreInsideItsFunctions) {
  ASSERT_EQ(catches(3), 1);
  auto symbols = make_self_symbol_table();
  symbols->refresh();
  Module* own = symbols->modules().at(0);
  Pads pads;
  ASSERT_TRUE(own->landing_pads(&pads));
  ASSERT_FALSE(pads.empty());
  EXPECT_TRUE(std::is_sorted(pads.begin(), pads.end()));
  size_t found = 0;
  for (uint64_t pad : pads) {
    SymbolizedAddress where;
    EXPECT_TRUE(symbols->symbolize(pad, &where)) << std::hex << pad;
    found += where.name.find("catches") != std::string::npos;
  }
  EXPECT_GE(found, 1u);
}

}  // namespace
}  // namespace patchbay
