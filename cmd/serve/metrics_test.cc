// SPDX-License-Identifier: MIT
#include "cmd/serve/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cmd/serve/families.h"
#include "cmd/serve/hist_series.h"
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

Labels labels(std::string_view name, std::string_view value) {
  Labels made;
  made.add(name, value);
  return made;
}

TEST(Metrics, LabelsHoldAnyBytes) {
  const struct {
    std::string_view value, want;
  } cases[] = {
      {"sh", "a=\"sh\""},
      {"a\"b\\c\nd", "a=\"a\\\"b\\\\c\\nd\""},
      {"\xff\x01\x7f", "a=\"\\\\xff\\\\x01\\\\x7f\""},
      {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "a=\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\""},
      {"\xc0\xaf", "a=\"\\\\xc0\\\\xaf\""},             // too long for its character
      {"\xed\xa0\x80", "a=\"\\\\xed\\\\xa0\\\\x80\""},  // half of a pair
      {"", "a=\"\""},
  };
  for (const auto& one : cases) EXPECT_EQ(labels("a", one.value).text, one.want);
}

TEST(Metrics, LongLabelsAreCutAndStayApart) {
  const std::string long_text(100000, 'x');
  const Labels one = labels("a", long_text + "1"), other = labels("a", long_text + "2");
  EXPECT_LT(one.text.size(), 300u);
  EXPECT_NE(one.text, other.text);
  EXPECT_EQ(metric_name("9.a-b"), "_9_a_b");
}

TEST(Metrics, TheFormThatIsAskedFor) {
  const struct {
    const char* accept;
    Format want;
  } cases[] = {
      {nullptr, Format::kText},
      {"", Format::kText},
      {"*/*", Format::kText},
      {"text/html,application/xhtml+xml;q=0.9", Format::kText},
      // Prometheus 2.42, without and with native histograms.
      {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q="
       "0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
       Format::kOpenMetrics},
      {"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,"
       "application/openmetrics-text;version=1.0.0;q=0.8",
       Format::kProtobuf},
      {"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text",
       Format::kText},
      {"application/openmetrics-text;version=2.0.0", Format::kText},
      {"application/openmetrics-text;q=0.1,text/plain;q=0.9", Format::kText},
      {"application/openmetrics-text;q=nonsense", Format::kText},
  };
  for (const auto& one : cases)
    EXPECT_EQ(format_of(one.accept), one.want) << (one.accept ? one.accept : "");
}

TEST(Metrics, CountersAndGauges) {
  const Labels one = labels("a", "1");
  const Exposition all = {
      {"hits", "Hits.\nTwo \"lines\".", MetricType::kCounter, {}, false, {{&one, ~uint64_t{0}}}},
      {"depth", "D.", MetricType::kGauge, {}, false, {{&one, uint64_t(-7)}}},
      {"time_seconds", "T.", MetricType::kCounter, {}, true, {{&one, 1500000001}}}};
  EXPECT_EQ(write_metrics(all, Format::kText),
            "# HELP hits_total Hits.\\nTwo \"lines\".\n# TYPE hits_total counter\n"
            "hits_total{a=\"1\"} 18446744073709551615\n"
            "# HELP depth D.\n# TYPE depth gauge\ndepth{a=\"1\"} -7\n"
            "# HELP time_seconds_total T.\n# TYPE time_seconds_total counter\n"
            "time_seconds_total{a=\"1\"} 1.500000001\n");
  const std::string open = write_metrics(all, Format::kOpenMetrics);
  EXPECT_NE(open.find("# TYPE hits counter\nhits_total{"), std::string::npos);
  EXPECT_NE(open.find("\\\"lines\\\""), std::string::npos);
  EXPECT_TRUE(open.ends_with("\n# EOF\n"));
}

// Each range is counted in the first bound that is not below it.
TEST(Metrics, ClassicHistograms) {
  const Labels one = labels("a", "1");
  const Exposition all = {{"x",
                           "X.",
                           MetricType::kHistogram,
                           RangeKind::kLog2,
                           false,
                           {},
                           {{&one, {}, {{0, 1}, {3, 2}, {64, 4}}}}},
                          {"y",
                           "Y.",
                           MetricType::kHistogram,
                           RangeKind::kQuantiles,
                           false,
                           {},
                           {{&one, 70, {{0, 1}, {1, 1}, {64, 1}}}}}};
  const std::string text = write_metrics(all, Format::kText);
  for (const char* line :
       {"x_bucket{a=\"1\",le=\"1.0\"} 1\n", "x_bucket{a=\"1\",le=\"4.0\"} 1\n",
        "x_bucket{a=\"1\",le=\"8.0\"} 3\n", "x_bucket{a=\"1\",le=\"1099511627776.0\"} 3\n",
        "x_bucket{a=\"1\",le=\"+Inf\"} 7\nx_count{a=\"1\"} 7\n", "y_bucket{a=\"1\",le=\"0.0\"} 1\n",
        "y_bucket{a=\"1\",le=\"1.0\"} 2\n", "y_bucket{a=\"1\",le=\"63.0\"} 2\n",
        "y_bucket{a=\"1\",le=\"127.0\"} 3\n", "y_sum{a=\"1\"} 70\ny_count{a=\"1\"} 3\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

// --- series of a histogram

// Entries (n, hits, size).
struct Sold {
  uint64_t n, hits, size;
};
HistImage sold(const std::vector<Sold>& entries, uint64_t dropped = 0, bool is_signed = false) {
  HistImage image =
      hist_image({hist_column("n")}, {hist_column("size", HistForm::kNumber, is_signed)});
  for (const Sold& one : entries) add_row(&image, number_key(one.n), {one.hits, one.size});
  image.dropped = dropped;
  return image;
}

const HistPlace kPlace = {"calls", "shop", "sold",
                          "hist:keys=n:vals=hitcount,size:sort=hitcount:size=2048"};

std::string shown(HistSeries& series) {
  Families families;
  series.show(&families);
  return write_metrics(families.take(), Format::kText);
}

void expect_line(const std::string& text, const std::string& line) {
  EXPECT_NE(text.find(line), std::string::npos) << line << "\nin\n" << text;
}

TEST(HistSeries, CountersNeverGoBack) {
  HistSeries series(kPlace, labels("pid", "1"), 100, sold({}));
  series.look(sold({{3, 10, 100}, {4, 1, 7}}));
  expect_line(shown(series),
              "_hits_total{pid=\"1\",instance=\"calls\",system=\"shop\",event=\"sold"
              "\",hist=\"keys=n:vals=size\",n=\"3\"} 10\n");
  // It was cleared, and one key has not come again.
  series.look(sold({{3, 2, 5}}));
  expect_line(shown(series), ",n=\"3\"} 12\n");
  expect_line(shown(series), ",n=\"3\"} 105\n");
  expect_line(shown(series), ",n=\"4\"} 1\n");
  series.restart();
  series.look(sold({{4, 5, 1}}, 3));
  series.look(sold({{4, 500, 1}}, 3, true));  // of another program
  expect_line(shown(series), ",n=\"3\"} 12\n");
  expect_line(shown(series), ",n=\"4\"} 6\n");
  expect_line(shown(series),
              "hist_dropped_hits_total{pid=\"1\",instance=\"calls\",system=\"shop\","
              "event=\"sold\",hist=\"keys=n:vals=size\"} 3\n");
}

TEST(HistSeries, TheLargestKeysGetSeries) {
  HistSeries series(kPlace, labels("pid", "1"), 2, sold({}));
  series.look(sold({{1, 1, 1}, {2, 9, 1}, {3, 2, 1}, {4, 8, 1}}));
  std::string text = shown(series);
  expect_line(text, ",n=\"2\"} 9\n");
  expect_line(text, ",n=\"4\"} 8\n");
  expect_line(text, ",n=\"other\",other=\"true\"} 3\n");
  // One of the others is large now: the sum of the others does not go down.
  series.look(sold({{1, 100, 1}, {2, 9, 1}, {3, 2, 1}, {4, 8, 1}}));
  expect_line(shown(series), ",n=\"other\",other=\"true\"} 102\n");
  EXPECT_EQ(series.nr_series(), 3u);
}

TEST(HistSeries, AKeyThatIsCalledOther) {
  HistImage image = hist_image({hist_column("n", HistForm::kText)});
  add_row(&image, text_key("other"), {5});
  add_row(&image, text_key("x"), {1});
  HistSeries series(kPlace, labels("pid", "1"), 1, image);
  series.look(image);
  expect_line(shown(series), ",n=\"other\"} 5\n");
  expect_line(shown(series), ",n=\"other\",other=\"true\"} 1\n");
}

// Each is a series of its own, with the hits that the program counted, on one line.
TEST(HistSeries, HostileTexts) {
  HistImage image = hist_image({hist_column("s", HistForm::kText)});
  uint64_t count = 1000;
  for (const std::string& text : hostile_texts()) add_row(&image, text_key(text), {count++});
  HistSeries series(kPlace, labels("pid", "1"), 100, image);
  series.look(image);
  const std::string text = shown(series);
  for (uint64_t hits = 1000; hits < count; hits++)
    expect_line(text, "\"} " + std::to_string(hits) + "\n");
  EXPECT_EQ(series.nr_series(), hostile_texts().size());
  EXPECT_EQ(size_t(std::count(text.begin(), text.end(), '\n')), hostile_texts().size() + 2 + 3)
      << text;
}

// The number of a name is another one at each look.
TEST(HistSeries, SymbolsByTheirNames) {
  HistImage image = hist_image({hist_column("p", HistForm::kSymbol)}), next = image;
  const HistName f{1, 0, 8, 0, "f", "", true, false}, g{2, 0, 8, 0, "g", "", true, false};
  add_row(&image, name_key(&image, f), {1});
  add_row(&next, name_key(&next, g), {70});
  add_row(&next, name_key(&next, f), {2});
  HistSeries series(kPlace, labels("pid", "1"), 100, image);
  series.look(image);
  series.look(next);
  expect_line(shown(series), ",p=\"f\"} 2\n");
  expect_line(shown(series), ",p=\"g\"} 70\n");
}

TEST(HistSeries, RangesBecomeHistograms) {
  HistPlace place = kPlace;
  place.definition = "hist:keys=cpu,n.log2:vals=hitcount,n:sort=hitcount:size=2048";
  HistImage image =
      hist_image({hist_column("cpu"), hist_column("n", HistForm::kLog2)}, {hist_column("n")});
  add_row(&image, number_key(0) + number_key(3), {2, 14});
  add_row(&image, number_key(0) + number_key(10), {1, 1000});
  add_row(&image, number_key(1) + number_key(0), {4, 0});
  HistSeries series(place, labels("pid", "1"), 100, image);
  series.look(image);
  const std::string text = shown(series);
  expect_line(text,
              "_n_log2_count{pid=\"1\",instance=\"calls\",system=\"shop\",event=\"sold\","
              "hist=\"keys=cpu,n.log2:vals=n\",cpu=\"0\"} 3\n");
  expect_line(text, ",cpu=\"0\",le=\"8.0\"} 2\n");
  expect_line(text, ",cpu=\"0\",le=\"1024.0\"} 3\n");
  expect_line(text, ",cpu=\"0\"} 1014\n");
  expect_line(text, ",cpu=\"1\",le=\"1.0\"} 4\n");
  EXPECT_EQ(series.nr_series(), 2u);
}

TEST(HistSeries, SumsOfFieldsWithASignAreGauges) {
  const HistImage image = sold({{1, 2, uint64_t(-5)}}, 0, true);
  HistSeries series(kPlace, labels("pid", "1"), 100, image);
  series.look(image);
  expect_line(shown(series), "# TYPE patchbay_shop_sold_size_net gauge\n");
  expect_line(shown(series), ",n=\"1\"} -5\n");
}

TEST(HistSeries, NumbersBelowZero) {
  HistPlace place = kPlace;
  place.definition = "hist:keys=n:vals=hitcount,size,size.counters:sort=hitcount:size=2048";
  HistImage image = hist_image({hist_column("n", HistForm::kNumber, true)},
                               {hist_column("size", HistForm::kNumber, true),
                                hist_column("size", HistForm::kCounters, true)});
  add_row(&image, number_key(uint64_t(-11)), {3, uint64_t(-3), uint64_t(-3)}, {{-5, 1}, {1, 2}});
  HistSeries series(place, labels("pid", "1"), 100, image);
  series.look(image);
  const std::string text = shown(series);
  expect_line(text, ",n=\"-11\",le=\"0.0\"} 1\n");
  expect_line(text, ",n=\"-11\",le=\"1.0\"} 3\n");
  expect_line(text, "# TYPE patchbay_shop_sold_size histogram\n");
  expect_line(text,
              "_size_sum{pid=\"1\",instance=\"calls\",system=\"shop\",event=\"sold\","
              "hist=\"keys=n:vals=size,size.counters\",n=\"-11\"} -3\n");
  // The histogram has the sum: no gauge of this name stands beside it.
  EXPECT_EQ(text.find("gauge"), text.npos) << text;
}

TEST(HistSeries, FieldsThatDifferInWhatNoNameHas) {
  HistImage image = hist_image({hist_column("k")}, {hist_column("Hits"), hist_column("hits")});
  add_row(&image, number_key(1), {3, 4, 5});
  HistSeries series(kPlace, labels("pid", "1"), 100, image);
  series.look(image);
  const std::string text = shown(series);
  expect_line(text, "# TYPE patchbay_shop_sold_hits_total counter\n");
  expect_line(text, "# TYPE patchbay_shop_sold_hits__total counter\n");
  expect_line(text, "# TYPE patchbay_shop_sold_hits___total counter\n");
  image =
      hist_image({hist_column("k")}, {hist_column("size"), hist_column("size", HistForm::kHex)});
  add_row(&image, number_key(1), {3, 10, 10});
  HistSeries twice(kPlace, labels("pid", "1"), 100, image);
  twice.look(image);
  const std::string once = shown(twice);
  expect_line(once, "k=\"1\"} 10\n");
  EXPECT_EQ(once.find("k=\"1\"} 10\n"), once.rfind("k=\"1\"} 10\n")) << once;
}

// What a family writes besides its own name is no other family's.
TEST(Families, NoNameIsThereTwice) {
  Families families;
  const auto name_of = [&](const char* name, MetricType type) {
    return std::string(families.get(name, type, "").name);
  };
  EXPECT_EQ(name_of("n", MetricType::kHistogram), "n");
  EXPECT_EQ(name_of("n_sum", MetricType::kGauge), "n_sum_");
  EXPECT_EQ(name_of("n_sum", MetricType::kGauge), "n_sum_");  // the same again
  EXPECT_EQ(name_of("n_count", MetricType::kCounter), "n_count_");
  EXPECT_EQ(name_of("n_bucket", MetricType::kHistogram), "n_bucket_");
  EXPECT_EQ(name_of("c_total", MetricType::kGauge), "c_total");
  EXPECT_EQ(name_of("c", MetricType::kCounter), "c_");
  EXPECT_EQ(name_of("g_sum", MetricType::kGauge), "g_sum");
  EXPECT_EQ(name_of("g", MetricType::kHistogram), "g_");
  EXPECT_EQ(name_of("n", MetricType::kHistogram), "n");
}

}  // namespace
}  // namespace patchbay::cmd
