// SPDX-License-Identifier: MIT
// Any bytes as what comes from the network, and as what a traced program has for a key: an Accept
// header, a webhook's body, an address, an action, a label, the text of a histogram.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cmd/common/common.cc"         // the tool is no library
#include "cmd/measure/hist_columns.cc"  // NOLINT
#include "cmd/measure/hist_entries.cc"  // NOLINT
#include "cmd/serve/alert_text.cc"      // NOLINT
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
  HistSeries series({"", "s", "e", hist_definition(text), {}}, labels, 3);
  uint64_t before = 0;
  for (const std::string_view one :
       {std::string_view(text), std::string_view(text).substr(size / 2), std::string_view(text)}) {
    series.look(one);
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
