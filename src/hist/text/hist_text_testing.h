// SPDX-License-Identifier: MIT
// Histograms made by hand, for tests and benchmarks of their texts.
#pragma once

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hist/image/hist_image_of.h"
#include "hist/text/hist_text.h"

namespace patchbay::testing {

// An event field that histograms refer to.
inline EventField hist_event_field(std::string type, std::string name, uint32_t size,
                                   bool is_signed) {
  EventField field;
  field.type = std::move(type);
  field.name = std::move(name);
  field.size = size;
  field.is_signed = is_signed;
  return field;
}

inline std::unique_ptr<HistField> hist_field(const EventField* field, uint32_t flags = 0) {
  auto made = std::make_unique<HistField>();
  made->flags = flags;
  made->field = field;
  made->size = 8;
  if (!field) return made;
  made->type = field->type;
  made->size = flags & kHistKey ? 8 : field->size;
  made->is_signed = field->is_signed;
  return made;
}

inline void add_hitcount(HistData* hist) {
  auto hitcount = hist_field(nullptr, kHistHitcount);
  hitcount->type = "u64";
  hist->values.push_back(std::move(hitcount));
}

// The text of a histogram, by way of the bytes that the tool gets.
inline std::string text_of_hist(const HistData& hist, std::string_view definition,
                                HistContents& contents, const HistNameSources& sources) {
  const HistImage image = hist_image_of(hist, definition, contents, sources);
  Result<std::vector<HistImage>> read = parse_hist_images(hist_image_bytes(image));
  if (!read.ok() || read->size() != 1) return "what was written cannot be read";
  const std::string text = hist_text(image);
  return text == hist_text(read->front()) ? text : "what was read is something else";
}

// What a table holds, in vectors.
class HandMadeContents : public HistContents {
 public:
  explicit HandMadeContents(size_t key_size) : key_size_(key_size) {}

  // A key of numbers.
  void add(const std::vector<uint64_t>& key, const std::vector<uint64_t>& values) {
    std::vector<uint8_t> bytes(key_size_);
    std::memcpy(bytes.data(), key.data(), key.size() * 8);
    add_bytes(std::move(bytes), values);
  }
  void add_bytes(std::vector<uint8_t> key, const std::vector<uint64_t>& values) {
    key.resize(key_size_);
    keys_.push_back(std::move(key));
    entries_.push_back({keys_.back().data(), uint32_t(entries_.size()), values});
    totals.hits += values[0];
    totals.entries++;
  }

  std::vector<HistEntry> entries(HistTotals* out) override { return *out = totals, entries_; }
  uint64_t variable(uint32_t entry, uint32_t index) override { return variables[{entry, index}]; }
  std::string_view variable_text(uint32_t entry, uint32_t index) override {
    return texts[{entry, index}];
  }
  std::vector<uint64_t> quantiles(uint32_t entry) override { return counters[entry]; }
  std::optional<HistSnapshotTaken> snapshot(const HistActionData&) override { return taken; }

  HistTotals totals;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> variables;
  std::map<std::pair<uint32_t, uint32_t>, std::string> texts;
  std::map<uint32_t, std::vector<uint64_t>> counters;
  std::optional<HistSnapshotTaken> taken;

 private:
  const size_t key_size_;
  std::deque<std::vector<uint8_t>> keys_;
  std::vector<HistEntry> entries_;
};

}  // namespace patchbay::testing
