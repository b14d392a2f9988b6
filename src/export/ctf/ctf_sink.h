// SPDX-License-Identifier: MIT
// Events into a CTF trace (ctf_trace.h): their fields as in the tables of event_table.h, and the
// names of the stack's frames behind them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "export/ctf/ctf_trace.h"
#include "export/event_table.h"
#include "export/export_sink.h"

namespace patchbay {

class CtfSink : public ExportSink {
 public:
  static Result<std::unique_ptr<CtfSink>> create(const std::string& directory);

  Status begin(const ExportMeta& meta, ExportSource* source) override;
  Status schema(const ExportSchema& schema) override;
  Status event(const ExportEvent& event) override;
  // An unknown number counts 1.
  Status loss(const ExportEvent& event) override;
  Status end(const ExportStats& stats) override;

 private:
  CtfSink() = default;
  void add_event(const ExportSchema* schema);

  std::unique_ptr<CtfTrace> trace_;
  const ExportMeta* meta_ = nullptr;
  std::unique_ptr<EventTables> tables_;
  std::vector<uint32_t> numbers_;  // by the schema's index + 1; kNone
};

}  // namespace patchbay
