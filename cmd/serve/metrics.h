// SPDX-License-Identifier: MIT
//
// What one scrape shows, and the three forms in which it is written:
//
//   Exposition ── families ── samples, histograms     each with its labels
//        ├── text 0.0.4          what every scraper reads; histograms with fixed bounds
//        ├── OpenMetrics 1.0     the same, with # EOF
//        └── protobuf            io.prometheus.client.MetricFamily, each behind its length;
//                                histograms with fixed bounds, and the native buckets beside them
//
// Bounds of the classic form are the same in all processes and on all hosts, or sums over them
// would be wrong: powers of two up to 2^40. Native buckets are as fine as what was counted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace patchbay::cmd {

// The labels of one series, ready to be written in each form.
struct Labels {
  std::string text;   // pid="12",exe="sh"
  std::string proto;  // LabelPair messages, as a field of Metric
  // `value`: any bytes. What is not UTF-8, and control characters, become \xNN; a long one is cut,
  // with a number behind it that tells it from others.
  void add(std::string_view name, std::string_view untrusted_value);
};
// What may stand in the name of a metric or label: others become _.
std::string metric_name(std::string_view untrusted_text);

enum class MetricType : uint8_t { kCounter, kGauge, kHistogram };
// What was counted into ranges.
enum class RangeKind : uint8_t {
  kLog2,       // (2^(n-1), 2^n] is n, as the modifier .log2 has it
  kQuantiles,  // quantile_buckets.h
};

struct Sample {
  const Labels* labels = nullptr;  // they outlive the exposition
  uint64_t value = 0;              // of a gauge: int64_t
};
struct HistogramSample {
  const Labels* labels = nullptr;
  std::optional<uint64_t> sum;                       // nothing: it is not known
  std::vector<std::pair<int32_t, uint64_t>> ranges;  // in order, with their hits; -5: that of -5
};

struct Family {
  std::string name, help;  // without _total
  MetricType type = MetricType::kCounter;
  RangeKind kind = RangeKind::kLog2;
  bool is_seconds = false;  // values are nanoseconds, and are written as seconds
  std::vector<Sample> samples;
  std::vector<HistogramSample> histograms;
  bool has_sign = false;  // sums are int64_t; those of gauges always are
};

using Exposition = std::vector<Family>;

enum class Format : uint8_t { kText, kOpenMetrics, kProtobuf };
const char* content_type(Format format);
// The form that an Accept header asks for first; kText where it asks for none of ours. Null: there
// is no header.
Format format_of(const char* untrusted_accept);
std::string write_metrics(const Exposition& families, Format format);

}  // namespace patchbay::cmd
