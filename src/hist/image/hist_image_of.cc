// SPDX-License-Identifier: MIT
#include "hist/image/hist_image_of.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "hist/definition/hist_listing.h"
#include "hist/hist_program.h"
#include "hist/quantile_buckets.h"
#include "output/text_put.h"
#include "symbol/symbol.h"

namespace patchbay {

namespace {

static_assert(kMaxHistKeys <= abi::kMostTableColumns && kMaxHistValues <= abi::kMostTableColumns);
static_assert(kMaxHistSortKeys <= abi::kMostTableSorts);
static_assert(kMaxHistKeySize + 64 <= abi::kMostTableText);

struct FormFlag {
  uint32_t flag;
  HistForm form;
};
// The first that a column has.
constexpr FormFlag kKeyForms[] = {
    {kHistStacktrace, HistForm::kStack},
    {kHistString, HistForm::kText},
    {kHistHex, HistForm::kHex},
    {kHistSym, HistForm::kSymbol},
    {kHistSymOffset, HistForm::kSymbolOffset},
    {kHistExecname, HistForm::kExecname},
    {kHistSyscall, HistForm::kSyscall},
    {kHistLog2, HistForm::kLog2},
    {kHistBucket, HistForm::kBucket},
};
constexpr FormFlag kValueForms[] = {
    {kHistQuantiles, HistForm::kQuantiles},
    {kHistCounters, HistForm::kCounters},
    {kHistPercent, HistForm::kPercent},
    {kHistGraph, HistForm::kGraph},
    {kHistHex, HistForm::kHex},
};

HistColumn column_of(const HistField& field, std::span<const FormFlag> forms) {
  HistColumn column;
  column.name = hist_name(field);
  column.modifier = hist_modifier(field);
  column.is_signed = field.is_signed;
  column.is_generic = !field.field;
  column.size = field.field ? field.field->size : field.size;
  column.buckets = field.buckets;
  for (const FormFlag& one : forms)
    if (field.flags & one.flag) return column.form = one.form, column;
  return column;
}

// What is known of numbers, each once.
class NameList {
 public:
  NameList(const HistNameSources& sources, std::vector<HistName>* names)
      : sources_(sources), names_(names) {}

  // `is_caller`: a call returns to the address, and stands in the function that is named.
  uint32_t address(uint64_t address, bool is_caller) {
    auto [known, is_new] = by_address_[is_caller].try_emplace(address, uint32_t(names_->size()));
    if (is_new) name_address(address, is_caller);
    return known->second;
  }
  uint32_t thread(uint64_t number) {
    auto [known, is_new] = by_thread_.try_emplace(number, uint32_t(names_->size()));
    if (is_new) {
      HistName& name = names_->emplace_back();
      name.number = number;
      name.name = sources_.comm ? sources_.comm(uint32_t(number)) : "<...>";
    }
    return known->second;
  }

 private:
  void name_address(uint64_t address, bool is_caller) {
    HistName& name = names_->emplace_back();
    name.number = address;
    AddressNames::Name found;
    if (!address || !sources_.names) return;
    const bool is_before = is_caller && sources_.names->lookup(address - 1, &found);
    if (!is_before && !sources_.names->lookup(address, &found)) return;
    name.is_known = true;
    name.name = found.name;
    name.offset = found.offset + is_before;
    name.size = found.size;
    if (!found.module) return;
    name.object = found.module->name();
    name.place = address - found.module->bias();
  }

  const HistNameSources& sources_;
  std::vector<HistName>* const names_;
  std::unordered_map<uint64_t, uint32_t> by_address_[2], by_thread_;
};

class ImageMaker {
 public:
  ImageMaker(const HistData& hist, HistContents& contents, const HistNameSources& sources)
      : hist_(hist), contents_(contents), names_(sources, &image_.names) {}
  HistImage make(std::string_view definition);

 private:
  void choose_columns();
  void choose_tracks();
  void put_text(std::string* key, const uint8_t* bytes, uint32_t size);
  void put_stack(std::string* key, const uint8_t* words, size_t size);
  std::string key_of(const uint8_t* key);
  void add_row(const HistEntry& entry);
  HistRanges ranges_of(std::span<const uint64_t> counters);
  void add_reached(uint32_t entry, HistRow* row);
  void add_shots();

  const HistData& hist_;
  HistContents& contents_;
  HistImage image_;
  NameList names_;
  std::vector<const HistActionData*> tracked_;  // by track
};

// The kernel counts hits also when nohitcount hides them, and shows no value that is an expression.
void ImageMaker::choose_columns() {
  for (const auto& key : hist_.keys) image_.keys.push_back(column_of(*key, kKeyForms));
  for (const auto& value : hist_.values) {
    const bool is_hits = image_.values.empty();
    HistColumn& column = image_.values.emplace_back(column_of(*value, kValueForms));
    column.is_hidden = is_hits ? hist_.no_hitcount : (value->flags & (kHistVar | kHistExpr)) != 0;
    if (column.is_hidden || is_hits) column.form = HistForm::kNumber;
    if (is_hits) column.name = "hitcount", column.modifier.clear();
  }
  for (const HistSort& sort : hist_.sorts)
    if (image_.orders.size() < abi::kMostTableSorts)
      image_.orders.push_back({sort.field, sort.descending});
}

// A histogram has one save() at most; what it keeps is shown behind each tracked value.
void ImageMaker::choose_tracks() {
  for (const auto& action : hist_.actions) {
    for (const HistFieldVar& saved : action->saved) {
      HistColumn& column = image_.saved.emplace_back();
      column.name = saved.var->name;
      column.is_signed = saved.value->is_signed;
      if (saved.value->flags & kHistString) column.form = HistForm::kText;
    }
    if (action->handler == HistHandler::kMatch) continue;
    tracked_.push_back(action.get());
    image_.tracks.push_back({action->track_text, action->handler == HistHandler::kMax,
                             action->kind == HistActionKind::kSnapshot});
  }
}

// --- keys

// The last byte of a text of the largest size says what else there is of it (hist_program.h).
void ImageMaker::put_text(std::string* key, const uint8_t* bytes, uint32_t size) {
  const auto* text = reinterpret_cast<const char*>(bytes);
  if (size < kMaxHistText) return put_hist_key_text(key, {text, ::strnlen(text, size)}, false);
  constexpr size_t kRoom = kMaxHistText - 1;
  const uint8_t mark = bytes[kRoom];
  size_t length = kRoom;
  while (length && !bytes[length - 1]) length--;
  if (mark != kHistTextCut) length = std::min(length + mark, kRoom);
  put_hist_key_text(key, {text, length}, mark == kHistTextCut);
}

void ImageMaker::put_stack(std::string* key, const uint8_t* words, size_t size) {
  size_t depth = 0;
  while (depth < size / 8 && load<uint64_t>(words + 8 * depth)) depth++;
  abi::put_table_number(key, depth);
  for (size_t i = 0; i < depth; i++)
    abi::put_table_number(key, names_.address(load<uint64_t>(words + 8 * i), i > 0));
}

std::string ImageMaker::key_of(const uint8_t* bytes) {
  std::string key;
  for (size_t i = 0; i < hist_.keys.size(); i++) {
    const HistField& field = *hist_.keys[i];
    const uint8_t* const at = bytes + field.key_offset;
    const HistColumn& column = image_.keys[i];
    if (column.form == HistForm::kText) {
      put_text(&key, at, field.size);
    } else if (column.form == HistForm::kStack) {
      put_stack(&key, at, std::min<size_t>(field.size, kMaxHistStackDepth * 8));
    } else {
      const auto value = load<uint64_t>(at);
      abi::put_table_number(&key, column.form == HistForm::kExecname ? names_.thread(value)
                                  : column.has_names()               ? names_.address(value, false)
                                                                     : value);
    }
  }
  return key;
}

// --- what was counted

// Numbers below 0 are in the second half, by how far they are below.
HistRanges ImageMaker::ranges_of(std::span<const uint64_t> counters) {
  HistRanges ranges;
  for (size_t i = counters.size(); i-- > kQuantileBuckets;)
    if (counters[i]) ranges.emplace_back(-int32_t(i - kQuantileBuckets), counters[i]);
  for (uint32_t i = 0; i < std::min<size_t>(counters.size(), kQuantileBuckets); i++)
    if (counters[i]) ranges.emplace_back(int32_t(i), counters[i]);
  return ranges;
}

void ImageMaker::add_reached(uint32_t entry, HistRow* row) {
  for (uint32_t i = 0; i < tracked_.size(); i++) {
    if (image_.tracks[i].is_snapshot) continue;
    if (row->reached.empty()) contents_.hold_saved(entry);
    HistReached& reached = row->reached.emplace_back();
    reached.track = i;
    reached.value = contents_.variable(entry, tracked_[i]->track_var->var_index);
    for (const auto& action : hist_.actions)
      for (const HistFieldVar& saved : action->saved) {
        HistSavedValue& kept = reached.saved.emplace_back();
        if (saved.value->flags & kHistString)
          kept.text = contents_.variable_text(entry, saved.var->var_index);
        else
          kept.number = contents_.variable(entry, saved.var->var_index);
      }
  }
}

void ImageMaker::add_row(const HistEntry& entry) {
  HistRow& row = image_.rows.emplace_back();
  row.key = key_of(entry.key);
  std::copy(entry.values.begin(), entry.values.end(), row.values.begin());
  if (image_.has_ranges()) {
    std::vector<uint64_t> counters = contents_.quantiles(entry.index);
    size_t first = 0;
    for (const HistColumn& value : image_.values) {
      HistRanges& ranges = row.ranges.emplace_back();
      if (!value.has_ranges()) continue;
      const size_t size = quantile_counters(value.is_signed);
      counters.resize(std::max(counters.size(), first + size));
      ranges = ranges_of(std::span<const uint64_t>(counters).subspan(first, size));
      first += size;
    }
  }
  add_reached(entry.index, &row);
}

void ImageMaker::add_shots() {
  for (uint32_t i = 0; i < tracked_.size(); i++) {
    if (!image_.tracks[i].is_snapshot) continue;
    const auto taken = contents_.snapshot(*tracked_[i]);
    if (taken) image_.shots.push_back({i, taken->value, key_of(taken->key.data())});
  }
}

HistImage ImageMaker::make(std::string_view definition) {
  image_.definition = definition;
  image_.is_paused = hist_.program ? hist_is_paused(hist_.program) : hist_.paused;
  choose_columns();
  choose_tracks();
  HistTotals totals;
  const std::vector<HistEntry> entries = contents_.entries(&totals);
  image_.rows.reserve(entries.size());
  for (const HistEntry& entry : entries) add_row(entry);
  add_shots();
  image_.hits = totals.hits;
  image_.dropped = totals.dropped;
  return std::move(image_);
}

}  // namespace

HistImage hist_image_of(const HistData& hist, std::string_view definition, HistContents& contents,
                        const HistNameSources& sources) {
  return ImageMaker(hist, contents, sources).make(definition);
}

}  // namespace patchbay
