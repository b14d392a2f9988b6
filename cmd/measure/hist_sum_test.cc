// SPDX-License-Identifier: MIT
// Sums of tables: what one process would show that had all the hits.
#include "cmd/measure/hist_sum.h"

#include <gtest/gtest.h>

#include <string>

#include "hist/image/hist_image_testing.h"
#include "hist/text/hist_text.h"
#include "hist/text/hist_values.h"

namespace patchbay::cmd {
namespace {

using patchbay::testing::add_row;
using patchbay::testing::hist_column;
using patchbay::testing::hist_image;
using patchbay::testing::hostile_texts;
using patchbay::testing::name_key;
using patchbay::testing::number_key;
using patchbay::testing::ranges_of;
using patchbay::testing::text_key;

HistImagePtr shared(HistImage image) { return std::make_shared<const HistImage>(std::move(image)); }

// The lines of the entries.
std::string lines_of(const HistImagePtr& image) {
  if (!image) return "none";
  const std::string text = hist_text(*image, HistStyle::kTerminal);
  const size_t start = text.find("\n#\n\n") + 4;
  return text.substr(start, text.rfind("\nTotals:") - start);
}

TEST(HistSum, NothingOfNothing) {
  EXPECT_EQ(hist_sum({}), nullptr);
  EXPECT_EQ(hist_sum({nullptr, nullptr}), nullptr);
  const HistImagePtr one = shared(hist_image({hist_column("n")}));
  EXPECT_EQ(hist_sum({nullptr, one, nullptr}), one);
}

TEST(HistSum, EqualKeysAreAddedUpAndSortedAnew) {
  HistImage a = hist_image({hist_column("n")}, {hist_column("size")}), b = a;
  add_row(&a, number_key(1), {1, 10});
  add_row(&a, number_key(2), {5, 50});
  add_row(&b, number_key(3), {2, 7});
  add_row(&b, number_key(1), {8, 1});
  a.dropped = 1, b.dropped = 2;
  const HistImagePtr sum = hist_sum({shared(a), nullptr, shared(b)});
  EXPECT_EQ(lines_of(sum),
            "{ n:          3 } hitcount:          2  size:          7\n"
            "{ n:          2 } hitcount:          5  size:         50\n"
            "{ n:          1 } hitcount:          9  size:         11\n");
  EXPECT_EQ(sum->hits, 16u);
  EXPECT_EQ(sum->dropped, 3u);
}

TEST(HistSum, OtherColumnsAreLeftOut) {
  HistImage a = hist_image({hist_column("n")}), b = hist_image({hist_column("m")}),
            c = hist_image({hist_column("n", HistForm::kNumber, true)});
  for (HistImage* one : {&a, &b, &c}) add_row(one, number_key(1), {1});
  EXPECT_EQ(hist_sum({shared(a), shared(b), shared(c)})->hits, 1u);
}

TEST(HistSum, PartsAreAddedUpToTheSameSum) {
  std::vector<HistImagePtr> all;
  std::vector<uint64_t> hits;
  for (uint64_t process = 0; process < 4; process++) {
    HistImage image = hist_image({hist_column("n")}, {hist_column("size", HistForm::kPercent),
                                                      hist_column("lat", HistForm::kQuantiles)});
    std::vector<uint64_t> own;
    for (uint64_t i = 0; i < 400; i++) own.push_back(i * i * process);
    hits.insert(hits.end(), own.begin(), own.end());
    add_row(&image, number_key(1), {400, process, 0}, ranges_of(own));
    add_row(&image, number_key(process + 2), {1, 3, 0});
    all.push_back(shared(image));
  }
  const HistImagePtr whole = hist_sum(all);
  EXPECT_EQ(whole->rows[0].ranges[2], ranges_of(hits));
  HistImagePtr parts;
  for (const HistImagePtr& one : all) parts = hist_sum({parts, one});
  EXPECT_EQ(hist_text(*parts), hist_text(*whole));
  EXPECT_NE(lines_of(whole).find("{ n:          1 } hitcount:       1600  size (%):  33.33"),
            std::string::npos)
      << lines_of(whole);
}

TEST(HistSum, HostileTextsAreTheirOwnKeys) {
  HistImage a = hist_image({hist_column("s", HistForm::kText)}), b = a;
  uint64_t count = 1;
  for (const std::string& text : hostile_texts()) {
    add_row(&a, text_key(text), {count});
    add_row(&b, text_key(text), {2 * count});
    add_row(&b, text_key(text, true), {1});  // there was more of it
    count++;
  }
  const HistImagePtr sum = hist_sum({shared(a), shared(b)});
  ASSERT_EQ(sum->rows.size(), 2 * hostile_texts().size());
  for (size_t i = 0; i < hostile_texts().size(); i++) {
    EXPECT_EQ(sum->parts_of(sum->rows[i].key)[0].text, hostile_texts()[i]);
    EXPECT_EQ(sum->rows[i].values[0], 3 * (i + 1));
  }
}

// --- names

HistName symbol(uint64_t address, uint64_t place, const char* name) {
  return {address, 0, 8, place, name, "libshop.so", true, false};
}

// An object is loaded elsewhere in each process; two places of one name stay two.
TEST(HistSum, SymbolsByTheirPlace) {
  HistImage a = hist_image({hist_column("p", HistForm::kSymbol)}), b = a;
  add_row(&a, name_key(&a, symbol(0x55aa00001123, 0x1123, "work")), {1});
  add_row(&a, name_key(&a, symbol(0x55aa00001200, 0x1200, "work")), {9});
  add_row(&b, name_key(&b, symbol(0x55aa00001200, 0x2200, "more")), {4});
  add_row(&b, name_key(&b, symbol(0x55bb00001123, 0x1123, "work")), {2});
  const std::string blanks(41, ' ');
  EXPECT_EQ(lines_of(hist_sum({shared(a), shared(b)})),
            "{ p: [*] work" + blanks + " } hitcount:          3\n" + "{ p: [55aa00001200] more" +
                blanks + " } hitcount:          4\n" + "{ p: [55aa00001200] work" + blanks +
                " } hitcount:          9\n");
}

TEST(HistSum, Stacks) {
  HistImage a = hist_image({hist_column("common_stacktrace", HistForm::kStack)}), b = a;
  a.keys[0].is_generic = b.keys[0].is_generic = true;
  a.names = {symbol(0x1010, 16, "f"), symbol(0x1020, 32, "main")};
  b.names = {symbol(0x2020, 32, "main"), symbol(0x2010, 16, "f")};
  add_row(&a, number_key(2) + number_key(0) + number_key(1), {1});
  add_row(&b, number_key(2) + number_key(1) + number_key(0), {2});
  EXPECT_EQ(lines_of(hist_sum({shared(a), shared(b)})),
            "{ common_stacktrace:\n         f+0x0/0x8\n         main+0x0/0x8\n} "
            "hitcount:          3\n");
}

TEST(HistSum, Threads) {
  HistImage a = hist_image({hist_column("common_pid", HistForm::kExecname)}), b = a;
  add_row(&a, name_key(&a, {12, 0, 0, 0, "sh", "", false, false}), {1});
  add_row(&b, name_key(&b, {13, 0, 0, 0, "sh", "", false, false}), {2});
  add_row(&b, name_key(&b, {12, 0, 0, 0, "sh", "", false, false}), {4});
  EXPECT_EQ(lines_of(hist_sum({shared(a), shared(b)})),
            "{ common_pid: sh              [        13] } hitcount:          2\n"
            "{ common_pid: sh              [        12] } hitcount:          5\n");
}

// --- what actions keep

TEST(HistSum, TheLargestOfAllAndTheLastOfEach) {
  HistImage a = hist_image({hist_column("n")});
  a.tracks = {{"$m", true, false}, {"$m", false, false}, {"$m", true, true}};
  a.saved = {hist_column("id")};
  HistImage b = a;
  add_row(&a, number_key(1), {1}).reached = {{0, 5, {{50, ""}}}, {1, 5, {{50, ""}}}};
  add_row(&b, number_key(1), {1}).reached = {{0, 7, {{70, ""}}}, {1, 3, {{30, ""}}}};
  b.shots = {{2, 7, number_key(1)}};
  EXPECT_EQ(
      lines_of(hist_sum({shared(a), shared(b)})),
      "{ n:          1 } hitcount:          2\n"
      "\tmax:          7  id:         70\n"
      "\tchanged:          5  id:         50\n"
      "\tchanged:          3  id:         30\n"
      "\nSnapshot taken (see tracing/snapshot).  Details:\n\ttriggering value { onmax($m) }:  "
      "        7\ttriggered by event with key: { n:          1 }\n");
}

}  // namespace
}  // namespace patchbay::cmd
