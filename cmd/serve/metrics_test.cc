// SPDX-License-Identifier: MIT
#include "cmd/serve/metrics.h"

#include <gtest/gtest.h>

#include <string>

#include "cmd/serve/families.h"
#include "cmd/serve/hist_series.h"

namespace patchbay::cmd {
namespace {

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

std::string hist_text(const std::string& entries, int dropped = 0) {
  return "# event histogram\n#\n# trigger info: hist:keys=n:vals=hitcount,size:sort=hitcount:"
         "size=2048 [active]\n#\n\n" +
         entries +
         "\nTotals:\n    Hits: 1\n    Entries: 1\n    Dropped: " + std::to_string(dropped) + "\n";
}

const HistPlace kPlace = {
    "calls", "shop", "sold", "hist:keys=n:vals=hitcount,size:sort=hitcount:size=2048", {}};

std::string shown(HistSeries& series) {
  Families families;
  series.show(&families);
  return write_metrics(families.take(), Format::kText);
}

void expect_line(const std::string& text, const std::string& line) {
  EXPECT_NE(text.find(line), std::string::npos) << line << "\nin\n" << text;
}

TEST(HistSeries, CountersNeverGoBack) {
  HistSeries series(kPlace, labels("pid", "1"), 100);
  series.look(
      hist_text("{ n:          3 } hitcount:         10  size:        100\n"
                "{ n:          4 } hitcount:          1  size:          7\n"));
  expect_line(shown(series),
              "_hits_total{pid=\"1\",instance=\"calls\",system=\"shop\",event=\"sold"
              "\",hist=\"keys=n:vals=size\",n=\"3\"} 10\n");
  // It was cleared, and one key has not come again.
  series.look(hist_text("{ n:          3 } hitcount:          2  size:          5\n"));
  expect_line(shown(series), ",n=\"3\"} 12\n");
  expect_line(shown(series), ",n=\"3\"} 105\n");
  expect_line(shown(series), ",n=\"4\"} 1\n");
  series.restart();
  series.look(hist_text("{ n:          4 } hitcount:          5  size:          1\n", 3));
  expect_line(shown(series), ",n=\"3\"} 12\n");
  expect_line(shown(series), ",n=\"4\"} 6\n");
  expect_line(shown(series),
              "hist_dropped_hits_total{pid=\"1\",instance=\"calls\",system=\"shop\","
              "event=\"sold\",hist=\"keys=n:vals=size\"} 3\n");
}

TEST(HistSeries, TheLargestKeysGetSeries) {
  HistSeries series(kPlace, labels("pid", "1"), 2);
  series.look(
      hist_text("{ n:          1 } hitcount:          1  size:          1\n"
                "{ n:          2 } hitcount:          9  size:          1\n"
                "{ n:          3 } hitcount:          2  size:          1\n"
                "{ n:          4 } hitcount:          8  size:          1\n"));
  std::string text = shown(series);
  expect_line(text, ",n=\"2\"} 9\n");
  expect_line(text, ",n=\"4\"} 8\n");
  expect_line(text, ",n=\"other\",other=\"true\"} 3\n");
  // One of the others is large now: the sum of the others does not go down.
  series.look(
      hist_text("{ n:          1 } hitcount:        100  size:          1\n"
                "{ n:          2 } hitcount:          9  size:          1\n"
                "{ n:          3 } hitcount:          2  size:          1\n"
                "{ n:          4 } hitcount:          8  size:          1\n"));
  expect_line(shown(series), ",n=\"other\",other=\"true\"} 102\n");
  EXPECT_EQ(series.nr_series(), 3u);
}

TEST(HistSeries, AKeyThatIsCalledOther) {
  HistSeries series(kPlace, labels("pid", "1"), 1);
  series.look(
      hist_text("{ n: other } hitcount:          5  size:          1\n"
                "{ n: x     } hitcount:          1  size:          1\n"));
  expect_line(shown(series), ",n=\"other\"} 5\n");
  expect_line(shown(series), ",n=\"other\",other=\"true\"} 1\n");
}

TEST(HistSeries, RangesBecomeHistograms) {
  HistPlace place = kPlace;
  place.definition = "hist:keys=cpu,n.log2:vals=hitcount,n:sort=hitcount:size=2048";
  HistSeries series(place, labels("pid", "1"), 100);
  series.look(
      hist_text("{ cpu:          0, n: ~ 2^3  } hitcount:          2  n:         14\n"
                "{ cpu:          0, n: ~ 2^10 } hitcount:          1  n:       1000\n"
                "{ cpu:          1, n: ~ 2^0  } hitcount:          4  n:          0\n"));
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
  HistPlace place = kPlace;
  place.signed_fields = {"size"};
  HistSeries series(place, labels("pid", "1"), 100);
  series.look(hist_text("{ n: 1 } hitcount:          2  size: 18446744073709551611\n"));
  expect_line(shown(series), "# TYPE patchbay_shop_sold_size_net gauge\n");
  expect_line(shown(series), ",n=\"1\"} -5\n");
}

TEST(HistSeries, NumbersBelowZero) {
  HistPlace place = kPlace;
  place.definition = "hist:keys=n:vals=hitcount,size,size.counters:sort=hitcount:size=2048";
  place.signed_fields = {"n", "size"};
  HistSeries series(place, labels("pid", "1"), 100);
  series.look(
      hist_text("{ n: 18446744073709551605 } hitcount:          3  size: 18446744073709551613  "
                "size.counters: sum=-3,-5=1,1=2\n"));
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
  HistPlace place = kPlace;
  place.definition = "hist:keys=k:vals=hitcount,Hits,hits:sort=hitcount:size=2048";
  HistSeries series(place, labels("pid", "1"), 100);
  series.look(hist_text("{ k:  1 } hitcount:  3  Hits:  4  hits:  5\n"));
  const std::string text = shown(series);
  expect_line(text, "# TYPE patchbay_shop_sold_hits_total counter\n");
  expect_line(text, "# TYPE patchbay_shop_sold_hits__total counter\n");
  expect_line(text, "# TYPE patchbay_shop_sold_hits___total counter\n");
  place.definition = "hist:keys=k:vals=hitcount,size,size.hex:sort=hitcount:size=2048";
  HistSeries twice(place, labels("pid", "1"), 100);
  twice.look(hist_text("{ k:  1 } hitcount:  3  size:  10  size:  a\n"));
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
