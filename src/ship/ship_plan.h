// SPDX-License-Identifier: MIT
//
// How a record becomes a row, found out once for each kind of events.
//
//   record   header | u32 a | s64 b | __data_loc text | u8 c
//   plan              copy a and b    general           copy c
//
// Numbers at fixed places that follow each other without a gap are one copy, since the row has the
// same bytes. All else goes the way of the exports (event_table.h), value by value.
#pragma once

#include <cstdint>
#include <vector>

#include "export/event_table.h"
#include "ship/row_binary.h"

namespace patchbay {

class ShipPlan {
 public:
  // `first_column`: of the event's own, in the table.
  ShipPlan(const ExportSchema& schema, size_t first_column, size_t nr_columns);

  void put(const ExportEvent& event, EventTables& tables, RowBinary* out, RowBinaryRow& row) const;
  size_t nr_copies() const { return nr_copies_; }

 private:
  struct Step {
    uint32_t offset = 0, size = 0;       // of a copy
    const ExportField* field = nullptr;  // else
    size_t column = 0;                   // of the row, behind this step
  };
  std::vector<Step> steps_;
  const ExportSchema* schema_;
  size_t first_column_;
  uint32_t whole_ = 0;  // a record of so many bytes has all that is copied
  size_t nr_copies_ = 0;
};

}  // namespace patchbay
