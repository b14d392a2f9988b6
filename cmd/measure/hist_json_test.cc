// SPDX-License-Identifier: MIT
#include "cmd/measure/hist_json.h"

#include <gtest/gtest.h>

#include <string>

#include "hist/image/hist_image_testing.h"

namespace patchbay::cmd {
namespace {

using patchbay::testing::add_row;
using patchbay::testing::hist_column;
using patchbay::testing::hist_image;
using patchbay::testing::hostile_texts;
using patchbay::testing::name_key;
using patchbay::testing::number_key;
using patchbay::testing::text_key;

// The entries as JSON.
std::string entries_of(const HistImage& image) {
  const std::string json = hist_json(image);
  const std::string start = "\"entries\": [";
  const size_t from = json.find(start) + start.size();
  return json.substr(from, json.rfind("], \"hits\"") - from);
}

TEST(HistJson, HeadAndTotals) {
  HistImage image = hist_image({hist_column("n")});
  image.definition = "hist:keys=n:vals=hitcount";
  image.dropped = 2;
  add_row(&image, number_key(3), {4});
  EXPECT_EQ(hist_json(image),
            "{\"definition\": \"hist:keys=n:vals=hitcount\", \"entries\": "
            "[{\"keys\": {\"n\": 3}, \"values\": {\"hitcount\": 4}}], "
            "\"hits\": 4, \"nr_entries\": 1, \"dropped\": 2}\n");
  EXPECT_EQ(hist_json({}),
            "{\"definition\": \"\", \"entries\": [], \"hits\": 0, \"nr_entries\": 0, "
            "\"dropped\": 0}\n");
}

std::string key_of(const HistColumn& column, const std::string& key,
                   std::vector<HistName> names = {}) {
  HistImage image = hist_image({column});
  image.names = std::move(names);
  add_row(&image, key, {4});
  const std::string entry = entries_of(image), start = "{\"keys\": {\"k\": ";
  return entry.substr(start.size(), entry.rfind("}, \"values\"") - start.size());
}

TEST(HistJson, Keys) {
  const HistName main{31, 8, 40, 0, "main", "", true, false};
  EXPECT_EQ(key_of(hist_column("k"), number_key(~uint64_t{0})), "18446744073709551615");
  EXPECT_EQ(key_of(hist_column("k", HistForm::kNumber, true), number_key(uint64_t(-11))), "-11");
  EXPECT_EQ(key_of(hist_column("k", HistForm::kHex), number_key(65535)), "65535");
  EXPECT_EQ(key_of(hist_column("k", HistForm::kLog2), number_key(5)), "{\"from\": 17, \"to\": 32}");
  EXPECT_EQ(key_of(hist_column("k", HistForm::kLog2), number_key(0)), "{\"from\": 0, \"to\": 1}");
  EXPECT_EQ(key_of(hist_column("k", HistForm::kBucket), number_key(5)), "{\"from\": 5, \"to\": 9}");
  EXPECT_EQ(key_of(hist_column("k", HistForm::kSymbol), number_key(0), {main}),
            "{\"symbol\": \"main\", \"address\": 31}");
  EXPECT_EQ(key_of(hist_column("k", HistForm::kSymbolOffset), number_key(0), {main}),
            "{\"symbol\": \"main+0x8/0x28\", \"address\": 31}");
  HistName several = main;
  several.is_several = true;
  EXPECT_EQ(key_of(hist_column("k", HistForm::kSymbol), number_key(0), {several}),
            "{\"symbol\": \"main\"}");
  EXPECT_EQ(key_of(hist_column("k", HistForm::kExecname), number_key(0),
                   {{12, 0, 0, 0, "a [b]", "", false, false}}),
            "{\"comm\": \"a [b]\", \"pid\": 12}");
  EXPECT_EQ(key_of(hist_column("k", HistForm::kSyscall), number_key(0)),
            "{\"syscall\": \"sys_read\", \"number\": 0}");
  EXPECT_EQ(key_of(hist_column("k", HistForm::kText), text_key("a\x1b[\"\xff ")),
            "\"a\\u001b[\\\"\xef\xbf\xbd \"");
  EXPECT_EQ(key_of(hist_column("k", HistForm::kText), text_key("12", true)), "\"12...\"");
  EXPECT_EQ(key_of(hist_column("k", HistForm::kStack), number_key(1) + number_key(0), {main}),
            "[\"main+0x8/0x28\"]");
}

// A text is one key, whatever it looks like.
TEST(HistJson, HostileTexts) {
  for (const std::string& text : hostile_texts()) {
    HistImage image = hist_image({hist_column("s", HistForm::kText)});
    add_row(&image, text_key(text), {3});
    const std::string json = hist_json(image);
    EXPECT_EQ(json.find('\n'), json.size() - 1) << json;
    const std::string end =
        "}, \"values\": {\"hitcount\": 3}}], \"hits\": 3, \"nr_entries\": 1, \"dropped\": 0}\n";
    EXPECT_TRUE(json.ends_with(end)) << json;
  }
}

std::string values_of(std::vector<HistColumn> columns, const std::vector<uint64_t>& values,
                      const HistRanges& ranges = {}) {
  HistImage image = hist_image({hist_column("k")}, std::move(columns));
  std::vector<uint64_t> all = {4};
  all.insert(all.end(), values.begin(), values.end());
  add_row(&image, number_key(3), all, ranges);
  const std::string entry = entries_of(image), start = "\"hitcount\": 4, ";
  const size_t at = entry.find(start) + start.size();
  return entry.substr(at, entry.size() - at - 2);
}

TEST(HistJson, Values) {
  EXPECT_EQ(values_of({hist_column("n")}, {12}), "\"n\": 12");
  EXPECT_EQ(values_of({hist_column("n"), hist_column("n", HistForm::kHex)}, {31, 31}),
            "\"n\": 31, \"n.hex\": 31");
  EXPECT_EQ(values_of({hist_column("n", HistForm::kPercent)}, {12}), "\"n (%)\": 100.00");
  EXPECT_EQ(values_of({hist_column("n", HistForm::kGraph)}, {1}),
            "\"n\": \"####################\"");
  EXPECT_EQ(values_of({hist_column("n", HistForm::kNumber, true)}, {uint64_t(-1234567890)}),
            "\"n\": -1234567890");
  EXPECT_EQ(values_of({hist_column("n", HistForm::kQuantiles, true)}, {0}, {{-11, 9}, {2, 1}}),
            "\"n.p50\": -11, \"n.p90\": -11, \"n.p99\": 2, \"n.p99.9\": 2, \"n.max\": 2");
  EXPECT_EQ(
      values_of({hist_column("n", HistForm::kCounters, true)}, {uint64_t(-65)}, {{-64, 1}, {1, 2}}),
      "\"n.counters\": {\"sum\": -65, \"ranges\": [{\"from\": -65, \"to\": -64, \"hits\": 1}, "
      "{\"from\": 1, \"to\": 1, \"hits\": 2}]}");
  HistColumn hidden = hist_column("m");
  hidden.is_hidden = true;
  EXPECT_EQ(values_of({hidden, hist_column("n")}, {1, 2}), "\"n\": 2");
}

TEST(HistJson, WhatActionsHaveKept) {
  HistImage image = hist_image({hist_column("k")});
  image.tracks = {{"$m", true, false}, {"$m", false, false}};
  image.saved = {hist_column("n", HistForm::kNumber, true), hist_column("s", HistForm::kText)};
  add_row(&image, number_key(3), {4}).reached = {{0, 9, {{uint64_t(-1), ""}, {0, "5."}}},
                                                 {1, 8, {{1, ""}, {0, "\n"}}}};
  EXPECT_EQ(entries_of(image),
            "{\"keys\": {\"k\": 3}, \"values\": {\"hitcount\": 4}, \"actions\": [{\"max\": 9, "
            "\"n\": -1, \"s\": \"5.\"}, {\"changed\": 8, \"n\": 1, \"s\": \"\\u000a\"}]}");
}

}  // namespace
}  // namespace patchbay::cmd
