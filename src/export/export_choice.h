// SPDX-License-Identifier: MIT
// Which events are wanted: globs and a filter, decided once for each kind of event.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "export/export_schema.h"
#include "export/export_source.h"
#include "filter/filter.h"

namespace patchbay {

class ExportSelection {
 public:
  // Fails for a glob that fits no event, and for a filter that is none, or has fields that no
  // chosen event has.
  Status set(const ExportChoice& choice, const std::vector<std::unique_ptr<ExportSchema>>& schemas);
  // `schema` may be null: an event that no format describes is wanted where nothing is chosen.
  bool wants(const ExportSchema* schema, std::span<const uint8_t> record) const;
  bool wants_kind(const ExportSchema& schema) const {
    return rules_.empty() || rules_[schema.index].wanted;
  }

 private:
  struct Rule {
    bool wanted = true;
    FilterProgramPtr filter = nullptr;
    std::vector<const ExportField*> dynamic = {};  // must lie inside the record
  };
  Status set_events(const ExportChoice& choice,
                    const std::vector<std::unique_ptr<ExportSchema>>& schemas);
  Status set_filter(const std::string& text,
                    const std::vector<std::unique_ptr<ExportSchema>>& schemas);
  bool passes(const Rule& rule, const ExportSchema& schema, std::span<const uint8_t> record) const;
  std::vector<Rule> rules_;  // by the schema's index; empty: all are wanted
};

}  // namespace patchbay
