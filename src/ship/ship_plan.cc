// SPDX-License-Identifier: MIT
#include "ship/ship_plan.h"

#include <algorithm>

namespace patchbay {
namespace {

bool is_copied(const ExportField& field) {
  using Type = ExportField::Type;
  return field.place == ExportField::Place::kFixed && !field.is_array &&
         (field.type <= Type::kHex || field.type == Type::kReal);
}

}  // namespace

ShipPlan::ShipPlan(const ExportSchema& schema, size_t first_column, size_t nr_columns)
    : schema_(&schema), first_column_(first_column) {
  // Behind the names come the fields; a line may follow, and the stack.
  const size_t nr_line = schema.role == ExportSchema::Role::kPrint &&
                         (schema.name == "bprint" || schema.name == "bputs");
  size_t column = nr_columns - 1 - nr_line - schema.fields.size();
  for (const ExportField& field : schema.fields) {
    column++;
    if (!is_copied(field)) {
      steps_.push_back({0, 0, &field, column});
      continue;
    }
    nr_copies_++;
    whole_ = std::max(whole_, field.offset + field.element_size);
    if (!steps_.empty() && !steps_.back().field &&
        steps_.back().offset + steps_.back().size == field.offset) {
      steps_.back().size += field.element_size;
      steps_.back().column = column;
    } else {
      steps_.push_back({field.offset, field.element_size, nullptr, column});
    }
  }
}

void ShipPlan::put(const ExportEvent& event, EventTables& tables, RowBinary* out,
                   RowBinaryRow& row) const {
  row.go_to(first_column_);
  tables.put_names(event, row);
  if (event.record.size() < whole_) {  // cut off: each field for itself
    for (const ExportField& field : schema_->fields) tables.put_field(event, field, row);
  } else {
    for (const Step& step : steps_) {
      if (step.field) {
        tables.put_field(event, *step.field, row);
      } else {
        out->append(event.record.data() + step.offset, step.size);
        row.go_to(step.column);
      }
    }
  }
  tables.put_line(event, row);
  event.stack.empty() ? row.null() : tables.put_stack(event, row);
}

}  // namespace patchbay
