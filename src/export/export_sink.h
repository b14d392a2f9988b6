// SPDX-License-Identifier: MIT
// One format. The calls come in the order begin, then schema, event and loss mixed, then end.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "export/export_event.h"

namespace patchbay {

class ExportSource;

class ExportSink {
 public:
  virtual ~ExportSink() = default;
  // `source` outlives the sink: names of addresses, texts of events.
  virtual Status begin(const ExportMeta& meta, ExportSource* source) = 0;
  // Before the first event of this kind.
  virtual Status schema(const ExportSchema& schema) = 0;
  virtual Status event(const ExportEvent& event) = 0;
  // A kLoss.
  virtual Status loss(const ExportEvent& event) = 0;
  virtual Status end(const ExportStats& stats) = 0;
  // Sentences about what the format could not hold, when the end was fine.
  virtual std::vector<std::string> notes() const { return {}; }
};

// Everything that `source` has, into `sink`. The first error ends it. `each`, which may be empty,
// sees each event first.
using EachExported = std::function<void(const ExportEvent& event)>;
Status export_all(ExportSource* source, ExportSink* sink, const EachExported& each = {});

}  // namespace patchbay
