// SPDX-License-Identifier: MIT
// Any bytes as what comes from the network, and as what a traced program has for a key: an Accept
// header, a webhook's body, an address, an action, a label, the images of a histogram.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cmd/common/common.cc"     // the tool is no library
#include "cmd/measure/hist_sum.cc"  // NOLINT
#include "cmd/serve/alert_text.cc"  // NOLINT
#include "cmd/serve/families.h"
#include "cmd/serve/hist_series.cc"  // NOLINT
#include "cmd/serve/metrics.cc"      // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace patchbay::cmd;
  const std::string text(reinterpret_cast<const char*>(data), size);
  (void)format_of(text.c_str());
  (void)parse_alerts(text);
  (void)parse_alert_action(text);
  Labels labels;
  labels.add("a", text);
  // A label is one line, and its quotes are its first and last.
  if (labels.text.find('\n') != labels.text.npos || labels.text.size() > 1000) std::abort();
  auto images = patchbay::parse_hist_images(text);
  if (!images.ok() || images->empty()) return 0;
  HistSeries series({"", "s", "e", images->front().definition}, labels, 3, images->front());
  uint64_t before = 0;
  for (size_t i = 0; i < 2 * images->size(); i++) {
    series.look((*images)[i % images->size()]);
    Families families;
    series.show(&families);
    const Exposition all = families.take();
    uint64_t hits = 0;
    for (const Family& family : all)
      if (family.name == "patchbay_s_e_hits")
        for (const Sample& sample : family.samples) hits += sample.value;
    if (hits < before && before < (uint64_t{1} << 40)) std::abort();
    before = hits;
    for (const Format format : {Format::kText, Format::kOpenMetrics, Format::kProtobuf})
      (void)write_metrics(all, format);
  }
  return 0;
}
