// SPDX-License-Identifier: MIT
//
// The events of one recording as blocks (ship_block.h): what stands between the iterator of the
// exports and a sink.
//
//   ExportSource ── event ──> head of its thread, plan of its kind ──> buffer of its table
//                                                                         │ full, or the end
//                                                                         v
//                                                            ShipSink::deliver(block)
//
// A thread's part of the head (host … exe) is made once and copied. Losses are rows of a table of
// their own. A table that the sink refuses costs its rows, which are counted there, and nobody
// else's.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "export/export_sink.h"
#include "ship/row_binary.h"
#include "ship/ship_block.h"
#include "ship/ship_plan.h"

namespace patchbay {

struct ShipLimits {
  uint32_t rows = 100000;
  size_t bytes = 64 << 20;
};

struct ShipCounts {
  uint64_t rows = 0, blocks = 0, bytes = 0;
  uint64_t lost = 0;     // that the loss rows tell of
  uint64_t refused = 0;  // rows of tables that the sink does not take
};

// One row of the losses.
struct ShipLoss {
  uint64_t ns = 0;
  uint32_t cpu = 0;
  int32_t pid = 0;
  std::string event, reason, instance;
  uint64_t lost = 0;
  bool at_least = false;
};

class ShipConverter : public ExportSink {
 public:
  ShipConverter(ShipOrigin origin, ShipSink* sink, const ShipLimits& limits = {});
  ~ShipConverter() override;

  Status begin(const ExportMeta& meta, ExportSource* source) override;
  Status schema(const ExportSchema& schema) override;
  Status event(const ExportEvent& event) override;
  Status loss(const ExportEvent& event) override;
  // Losses that no mark in the recording tells of; before end().
  Status add_loss(const ShipLoss& loss);
  // What is left in the buffers, too.
  Status end(const ExportStats& stats) override;
  std::vector<std::string> notes() const override { return notes_; }
  const ShipCounts& counts() const { return counts_; }

 private:
  struct Table;
  Table* add_table(ShipTable table, const ExportSchema* schema);
  Status prepare(Table* table);
  void put_head(Table* table, std::string_view who, std::string_view instance, uint32_t cpu,
                uint64_t ns);
  std::string_view who(const ExportEvent& event);
  Status end_row(Table* table);
  void refuse(Table* table, const Error& error);
  Status deliver(Table* table);

  ShipOrigin origin_;
  ShipSink* sink_;
  ShipLimits limits_;
  const ExportMeta* meta_ = nullptr;
  std::unique_ptr<EventTables> events_;
  std::map<std::string, std::unique_ptr<Table>> tables_;  // by the schema's label
  std::vector<Table*> by_schema_;
  Table* unknown_ = nullptr;
  Table* losses_ = nullptr;
  std::vector<std::string> who_;  // by thread
  std::string nobody_, room_;
  std::vector<std::string> notes_;
  ShipCounts counts_;
  uint64_t last_ns_ = 0;
};

}  // namespace patchbay
