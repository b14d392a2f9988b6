// SPDX-License-Identifier: MIT
#include "cmd/serve/metrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

#include "base/text.h"
#include "export/proto_write.h"
#include "hist/quantile_buckets.h"

namespace patchbay::cmd {
namespace {

constexpr size_t kMostLabelBytes = 200;

// --- labels

// The bytes of the UTF-8 character at the front; 0: there is none.
size_t utf8_size(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const size_t size = first < 0x80   ? 1
                      : first < 0xc2 ? 0
                      : first < 0xe0 ? 2
                      : first < 0xf0 ? 3
                      : first < 0xf5 ? 4
                                     : 0;
  if (size == 0 || size > text.size()) return 0;
  for (size_t i = 1; i < size; i++)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  if (size > 2) {
    const unsigned second = byte(1);
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
      return 0;
  }
  return size;
}

// 64-bit FNV-1a.
uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::string label_value(std::string_view text) {
  std::string value;
  const std::string_view whole = text;
  while (!text.empty()) {
    const size_t size = utf8_size(text);
    const bool is_shown =
        size > 1 || (size == 1 && (text[0] >= ' ' || text[0] == '\n') && text[0] != 0x7f);
    const size_t before = value.size();
    if (is_shown) {
      value += text.substr(0, size);
    } else {
      char hex[8];
      std::snprintf(hex, sizeof hex, "\\x%02x", unsigned(static_cast<unsigned char>(text[0])));
      value += hex;
    }
    if (value.size() > kMostLabelBytes) {
      value.resize(before);
      return value + "~" + hex_number(hash_of(whole));
    }
    text.remove_prefix(is_shown ? size : 1);
  }
  return value;
}

void put_quoted(std::string* out, std::string_view text) {
  *out += '"';
  for (const char c : text) {
    if (c == '\\' || c == '"') *out += '\\';
    if (c == '\n')
      *out += "\\n";
    else
      *out += c;
  }
  *out += '"';
}

// --- numbers

void put_number(std::string* out, uint64_t value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out->append(digits, size_t(end - digits));
}

bool has_sign(const Family& family) { return family.type == MetricType::kGauge || family.has_sign; }

void put_value(std::string* out, const Family& family, uint64_t value) {
  if (has_sign(family) && int64_t(value) < 0) {
    *out += '-';
    value = 0 - value;
  }
  if (!family.is_seconds) return put_number(out, value);
  put_number(out, value / 1000000000);
  char part[16];
  std::snprintf(part, sizeof part, ".%09u", unsigned(value % 1000000000));
  *out += part;
}

double as_double(const Family& family, uint64_t value) {
  const double number = has_sign(family) ? double(int64_t(value)) : double(value);
  return family.is_seconds ? number / 1e9 : number;
}

}  // namespace

void Labels::add(std::string_view name, std::string_view untrusted) {
  const std::string value = label_value(untrusted);
  if (!text.empty()) text += ',';
  text += name;
  text += '=';
  put_quoted(&text, value);
  std::string pair;
  proto::put_bytes(&pair, 1, name);
  proto::put_bytes(&pair, 2, value);
  proto::put_bytes(&proto, 1, pair);
}

std::string metric_name(std::string_view text) {
  std::string name;
  for (const char c : text) name += is_letter(c) || is_digit(c) || c == '_' ? c : '_';
  if (name.empty() || is_digit(name[0])) name.insert(0, "_");
  return name;
}

// --- the form

const char* content_type(Format format) {
  switch (format) {
    case Format::kOpenMetrics:
      return "application/openmetrics-text; version=1.0.0; charset=utf-8";
    case Format::kProtobuf:
      return "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; "
             "encoding=delimited";
    case Format::kText:
      break;
  }
  return "text/plain; version=0.0.4; charset=utf-8";
}

namespace {

// What one entry of an Accept header means.
struct Wanted {
  bool is_ours = false;
  Format format = Format::kText;
  double quality = 1;
};

// The value of "NAME=VALUE", without quotes; empty: it is another one.
std::string_view parameter(std::string_view part, std::string_view name) {
  part = trim(part, " \t");
  if (!part.starts_with(name) || part.substr(name.size(), 1) != "=") return "";
  return trim(part.substr(name.size() + 1), " \t\"");
}

Wanted wanted_by(std::string_view entry) {
  Wanted wanted;
  const std::string_view type = trim(cut_at(&entry, ';'), " \t");
  const bool is_proto = type == "application/vnd.google.protobuf";
  bool is_family = false, is_delimited = false, is_known = true;
  while (!entry.empty()) {
    const std::string_view part = cut_at(&entry, ';');
    if (const std::string_view q = parameter(part, "q"); !q.empty())
      if (!to_number(q, &wanted.quality)) wanted.quality = 0;
    is_family |= parameter(part, "proto") == "io.prometheus.client.MetricFamily";
    is_delimited |= parameter(part, "encoding") == "delimited";
    const std::string_view version = parameter(part, "version");
    if (type == "application/openmetrics-text" && !version.empty())
      is_known = version == "0.0.1" || version == "1.0.0";
    if (type == "text/plain" && !version.empty()) is_known = version == "0.0.4";
  }
  if (is_proto) {
    wanted.is_ours = is_family && is_delimited;
    wanted.format = Format::kProtobuf;
  } else if (type == "application/openmetrics-text") {
    wanted.is_ours = is_known;
    wanted.format = Format::kOpenMetrics;
  } else {
    wanted.is_ours = is_known && (type == "text/plain" || type == "text/*" || type == "*/*");
  }
  return wanted;
}

}  // namespace

Format format_of(const char* accept) {
  if (!accept) return Format::kText;
  std::string_view rest = accept;
  Wanted best{false, Format::kText, 0};
  while (!rest.empty()) {
    const Wanted one = wanted_by(cut_at(&rest, ','));
    if (one.is_ours && one.quality > best.quality) best = one;
  }
  return best.format;
}

namespace {

// --- histograms

constexpr uint32_t kBounds = 41;  // 2^0 … 2^40

// Up to which value the bound `n` counts; both kinds of ranges end there exactly.
uint64_t bound(RangeKind kind, uint32_t n) {
  return (uint64_t{1} << n) - (kind == RangeKind::kQuantiles ? 1 : 0);
}

// How many were up to each bound, and how many in all.
struct Cumulated {
  uint64_t up_to[kBounds] = {};
  uint64_t all = 0;
};
Cumulated cumulated(RangeKind kind, const HistogramSample& sample) {
  Cumulated counts;
  uint32_t n = 0;
  for (const auto& [range, hits] : sample.ranges) {
    const auto is_up_to = [&, own = uint32_t(range), is_negative = range < 0](uint32_t one) {
      if (is_negative) return true;
      return kind == RangeKind::kLog2 ? own <= one : quantile_range(own).high <= bound(kind, one);
    };
    while (n < kBounds && !is_up_to(n)) counts.up_to[n++] = counts.all;
    counts.all += hits;
  }
  while (n < kBounds) counts.up_to[n++] = counts.all;
  return counts;
}

// The native bucket of a range: (2^((i-1)/8), 2^(i/8)] is i. A range that lies in two is counted in
// that of its middle.
int32_t native_index(RangeKind kind, uint32_t range) {
  if (kind == RangeKind::kLog2) return int32_t(range);
  return int32_t(std::ceil(std::log2(double(quantile_range(range).middle())) * 8));
}

uint64_t zigzag(int64_t value) { return uint64_t(value) << 1 ^ uint64_t(value >> 63); }

using NativeBuckets = std::vector<std::pair<int32_t, uint64_t>>;  // in order, with their hits

void add_native(NativeBuckets* buckets, int32_t index, uint64_t hits) {
  if (!buckets->empty() && buckets->back().first == index)
    buckets->back().second += hits;
  else
    buckets->emplace_back(index, hits);
}

// `span_field`: of the runs of buckets; that of their counts follows.
void put_buckets(std::string* out, uint32_t span_field, const NativeBuckets& buckets) {
  int32_t next = 0;
  for (size_t i = 0; i < buckets.size();) {
    size_t end = i + 1;
    while (end < buckets.size() && buckets[end].first == buckets[end - 1].first + 1) end++;
    std::string span;
    proto::put_uint(&span, 1, zigzag(buckets[i].first - next));
    proto::put_uint(&span, 2, end - i);
    proto::put_bytes(out, span_field, span);
    next = buckets[end - 1].first + 1;
    i = end;
  }
  int64_t before = 0;
  for (const auto& bucket : buckets) {
    proto::put_uint(out, span_field + 1, zigzag(int64_t(bucket.second) - before));
    before = int64_t(bucket.second);
  }
}

void put_native(std::string* out, RangeKind kind, const HistogramSample& sample) {
  constexpr double kZeroThreshold = 0x1p-128;
  constexpr uint32_t kNegativeSpan = 9, kPositiveSpan = 12;
  uint64_t zeros = 0;
  NativeBuckets positive, negative;  // those nearest to 0 first
  const auto& ranges = sample.ranges;
  for (auto one = ranges.rbegin(); one != ranges.rend(); ++one)
    if (one->first < 0)
      add_native(&negative, native_index(kind, uint32_t(-one->first)), one->second);
  for (const auto& [range, hits] : ranges) {
    if (kind == RangeKind::kQuantiles && range == 0)
      zeros = hits;
    else if (range >= 0)
      add_native(&positive, native_index(kind, uint32_t(range)), hits);
  }
  proto::put_uint(out, 5, zigzag(kind == RangeKind::kLog2 ? 0 : 3));
  proto::put_double(out, 6, kZeroThreshold);
  proto::put_uint(out, 7, zeros);
  put_buckets(out, kNegativeSpan, negative);
  put_buckets(out, kPositiveSpan, positive);
}

// --- protobuf

std::string histogram_message(const Family& family, const HistogramSample& sample) {
  std::string message;
  const Cumulated counts = cumulated(family.kind, sample);
  proto::put_uint(&message, 1, counts.all);
  proto::put_double(
      &message, 2,
      sample.sum ? as_double(family, *sample.sum) : std::numeric_limits<double>::quiet_NaN());
  for (uint32_t n = 0; n <= kBounds; n++) {
    std::string bucket;
    const bool is_last = n == kBounds;
    proto::put_uint(&bucket, 1, is_last ? counts.all : counts.up_to[n]);
    proto::put_double(
        &bucket, 2,
        is_last ? std::numeric_limits<double>::infinity() : double(bound(family.kind, n)));
    proto::put_bytes(&message, 3, bucket);
  }
  put_native(&message, family.kind, sample);
  return message;
}

void put_metric(std::string* family, const Labels& labels, uint32_t field,
                std::string_view message) {
  proto::put_tag(family, 4, 2);
  std::string head;
  proto::put_tag(&head, field, 2);
  proto::put_varint(&head, message.size());
  proto::put_varint(family, labels.proto.size() + head.size() + message.size());
  *family += labels.proto;
  *family += head;
  *family += message;
}

void put_proto(std::string* out, const Family& family) {
  constexpr uint64_t kTypes[] = {0, 1, 4};
  std::string message;
  const bool is_counter = family.type == MetricType::kCounter;
  proto::put_bytes(&message, 1, family.name + (is_counter ? "_total" : ""));
  proto::put_bytes(&message, 2, family.help);
  proto::put_uint(&message, 3, kTypes[size_t(family.type)]);
  std::string value;
  for (const Sample& sample : family.samples) {
    value.clear();
    proto::put_double(&value, 1, as_double(family, sample.value));
    put_metric(&message, *sample.labels, is_counter ? 3 : 2, value);
  }
  for (const HistogramSample& sample : family.histograms)
    put_metric(&message, *sample.labels, 7, histogram_message(family, sample));
  proto::put_varint(out, message.size());
  *out += message;
}

// --- texts

void put_head(std::string* out, const Family& family, bool is_open) {
  constexpr const char* kTypes[] = {"counter", "gauge", "histogram"};
  const std::string name =
      family.name + (family.type == MetricType::kCounter && !is_open ? "_total" : "");
  *out += "# HELP " + name + " ";
  for (const char c : family.help)
    if (c == '\n' || c == '\\' || (c == '"' && is_open))
      *out += c == '\n' ? "\\n" : c == '"' ? "\\\"" : "\\\\";
    else
      *out += c;
  *out += "\n# TYPE " + name + " " + kTypes[size_t(family.type)] + "\n";
}

void put_series(std::string* out, std::string_view name, const char* end, const Labels& labels) {
  *out += name;
  *out += end;
  *out += '{';
  *out += labels.text;
}

void put_histogram(std::string* out, const Family& family, const HistogramSample& sample) {
  const Cumulated counts = cumulated(family.kind, sample);
  for (uint32_t n = 0; n <= kBounds; n++) {
    put_series(out, family.name, "_bucket", *sample.labels);
    *out += sample.labels->text.empty() ? "le=\"" : ",le=\"";
    if (n < kBounds)
      put_number(out, bound(family.kind, n));
    else
      *out += "+Inf";
    // OpenMetrics has floats here: 1.0 and 1 are the same bound, and written alike by all.
    *out += n < kBounds ? ".0\"} " : "\"} ";
    put_number(out, n < kBounds ? counts.up_to[n] : counts.all);
    *out += '\n';
  }
  if (sample.sum) {
    put_series(out, family.name, "_sum", *sample.labels);
    *out += "} ";
    put_value(out, family, *sample.sum);
    *out += '\n';
  }
  put_series(out, family.name, "_count", *sample.labels);
  *out += "} ";
  put_number(out, counts.all);
  *out += '\n';
}

void put_text(std::string* out, const Family& family, bool is_open) {
  put_head(out, family, is_open);
  const char* end = family.type == MetricType::kCounter ? "_total" : "";
  for (const Sample& sample : family.samples) {
    put_series(out, family.name, end, *sample.labels);
    *out += "} ";
    put_value(out, family, sample.value);
    *out += '\n';
  }
  for (const HistogramSample& sample : family.histograms) put_histogram(out, family, sample);
}

}  // namespace

std::string write_metrics(const Exposition& families, Format format) {
  std::string text;
  size_t size = 64;
  for (const Family& family : families)
    for (const Sample& sample : family.samples)
      size += sample.labels->text.size() + family.name.size() + 24;
  text.reserve(size);
  for (const Family& family : families)
    if (format == Format::kProtobuf)
      put_proto(&text, family);
    else
      put_text(&text, family, format == Format::kOpenMetrics);
  if (format == Format::kOpenMetrics) text += "# EOF\n";
  return text;
}

}  // namespace patchbay::cmd
