// SPDX-License-Identifier: MIT
#include "cmd/measure/hist_signs.h"

#include <gtest/gtest.h>

#include <string>

namespace patchbay::cmd {
namespace {

std::string table(const std::string& columns, const std::string& entries) {
  return "# event histogram\n#\n# trigger info: hist:" + columns +
         ":sort=hitcount:size=2048 [active]\n#\n\n" + entries +
         "\n\nTotals:\n    Hits: 18446744073709551605\n    Entries: 1\n    Dropped: 0\n";
}

TEST(HistSigns, NumbersOfFieldsWithASignGetIt) {
  const std::string text_key = "18446744073709551605" + std::string(30, ' ');
  const struct {
    std::string columns, written, shown;
  } rows[] = {
      {"keys=n:vals=hitcount,r",
       "{ n: 18446744073709551605 } hitcount:  3  r: 18446744073709551506",
       "{ n:        -11 } hitcount:  3  r:       -110"},
      {"keys=n,u:vals=hitcount", "{ n: 18446744073709551605, u: 18446744073709551605 } hitcount: 3",
       "{ n:        -11, u: 18446744073709551605 } hitcount: 3"},
      {"keys=u,n:vals=hitcount,u,n",
       "{ u:  5, n: 18446744073709551605 } hitcount: 3  u: 18446744073709551615  n:  7",
       "{ u:  5, n:        -11 } hitcount: 3  u: 18446744073709551615  n:  7"},
      {"keys=n.hex:vals=hitcount,r.hex", "{ n: fffffffffffffff5 } hitcount: 1  r: ffffffffffffff92",
       "{ n: fffffffffffffff5 } hitcount: 1  r: ffffffffffffff92"},
      {"keys=n:vals=hitcount", "{ n:          5 } hitcount: 18446744073709551605",
       "{ n:          5 } hitcount: 18446744073709551605"},
      {"keys=t:vals=hitcount,r,r.quantiles",
       "{ t: " + text_key + " } hitcount: 1  r: 18446744073709551605  r.p50:        -11",
       "{ t: " + text_key + " } hitcount: 1  r:        -11  r.p50:        -11"},
  };
  for (const auto& [columns, written, shown] : rows)
    EXPECT_EQ(with_hist_signs(table(columns, written), {"n", "r"}), table(columns, shown));
  EXPECT_EQ(with_hist_signs("", {"n"}), "");
  EXPECT_EQ(with_hist_signs("{ n: 1", {"n"}), "{ n: 1");
}

}  // namespace
}  // namespace patchbay::cmd
