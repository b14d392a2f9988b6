// SPDX-License-Identifier: MIT
// The image of a histogram that counts in this process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hist/definition/hist_data.h"
#include "hist/hist_table.h"
#include "hist/image/hist_image.h"
#include "output/address_names.h"

namespace patchbay {

struct HistNameSources {
  AddressNames* names = nullptr;                  // null: addresses stay numbers
  std::function<std::string(uint32_t pid)> comm;  // "<...>" for one that is not known
};

// What set off the snapshot of an action snapshot().
struct HistSnapshotTaken {
  uint64_t value = 0;
  std::vector<uint8_t> key;
};

// What a histogram has counted, as far as it is shown. Pointers stay valid until the next call.
class HistContents {
 public:
  virtual ~HistContents() = default;
  virtual std::vector<HistEntry> entries(HistTotals* totals) = 0;
  // What save() keeps of this entry is shown as it is now, all of one event, until the next call.
  virtual void hold_saved(uint32_t /*entry*/) {}
  // 0 when it is not set.
  virtual uint64_t variable(uint32_t entry, uint32_t index) = 0;
  virtual std::string_view variable_text(uint32_t entry, uint32_t index) = 0;
  virtual std::vector<uint64_t> quantiles(uint32_t entry) = 0;
  // None: none was taken.
  virtual std::optional<HistSnapshotTaken> snapshot(const HistActionData& action) = 0;
};

// The contents of the histogram's table.
std::unique_ptr<HistContents> contents_of_table(const HistData& hist);

// `definition`: HistTriggers' definition_text().
HistImage hist_image_of(const HistData& hist, std::string_view definition, HistContents& contents,
                        const HistNameSources& sources);

}  // namespace patchbay
