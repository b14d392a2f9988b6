// SPDX-License-Identifier: MIT
#include "cmd/serve/hist_series.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/text.h"
#include "cmd/measure/hist_sum.h"
#include "hist/text/hist_values.h"

namespace patchbay::cmd {
namespace {

// What a label of a key cannot be called.
const std::set<std::string_view> kReserved = {"pid",   "exe",  "start", "instance", "system",
                                              "event", "hist", "le",    "other",    "quantile"};

std::string lower(std::string_view text) {
  std::string made(text);
  for (char& c : made)
    if (c >= 'A' && c <= 'Z') c = char(c + ('a' - 'A'));
  return made;
}

// "hist:keys=n:vals=hitcount,size:sort=hitcount:size=2048 if n > 3" -> "keys=n:vals=size if n > 3":
// what tells the histograms of an event apart.
std::string short_definition(std::string_view listing) {
  const size_t end = std::min(listing.find(" if "), listing.size());
  std::string text;
  for (std::string_view rest = listing.substr(0, end); !rest.empty();) {
    const std::string_view part = cut_at(&rest, ':');
    if (part == "hist" || part.starts_with("sort=") || part.starts_with("size=") ||
        part == "vals=hitcount")
      continue;
    constexpr std::string_view kHits = "vals=hitcount,";
    text += text.empty() ? "" : ":";
    text += part.starts_with(kHits) ? "vals=" + std::string(part.substr(kHits.size()))
                                    : std::string(part);
  }
  return text + std::string(listing.substr(end));
}

// Functions of a stack as in a flame graph, the innermost last.
std::string folded(const HistImage& image, const std::vector<uint32_t>& frames) {
  std::string stack;
  for (const uint32_t frame : frames)
    stack = hist_address_text(image.names[frame], true) + (stack.empty() ? "" : ";" + stack);
  return stack;
}

// The address is another one in each process.
std::string key_text(const HistImage& image, const HistColumn& key, const HistKeyPart& part) {
  const std::string number = std::to_string(part.number);
  switch (key.form) {
    case HistForm::kText:
      return std::string(part.text) + (part.is_cut ? "..." : "");
    case HistForm::kStack:
      return folded(image, part.frames);
    case HistForm::kSymbol:
    case HistForm::kSymbolOffset:
      return hist_address_text(image.names[part.number], key.form == HistForm::kSymbolOffset);
    case HistForm::kExecname:
      return image.names[part.number].name + "[" + std::to_string(image.names[part.number].number) +
             "]";
    case HistForm::kSyscall:
      return hist_syscall_text(part.number) + "[" + number + "]";
    case HistForm::kHex:
      return hex_number(part.number);
    case HistForm::kBucket:
      return number + "-" + std::to_string(part.number + key.buckets - 1);
    case HistForm::kLog2:
      return "~ 2^" + number;
    default:
      return key.is_signed ? std::to_string(int64_t(part.number)) : number;
  }
}

// Those that are summed up, without hitcount.
std::vector<HistColumn> values_of(const HistImage& columns) {
  if (columns.values.empty()) return {};
  return {columns.values.begin() + 1, columns.values.end()};
}

// Those with most hits first: they get the slots.
std::vector<uint32_t> largest_first(const HistImage& image) {
  std::vector<uint32_t> order(image.rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return image.rows[a].values[0] > image.rows[b].values[0];
  });
  return order;
}

}  // namespace

void HistSeries::Counts::add(const Counts& other) {
  for (size_t i = 0; i < kMostValues; i++) values[i] += other.values[i];
  for (size_t i = 0; i < log2.size() && i < other.log2.size(); i++) log2[i] += other.log2[i];
  for (size_t i = 0; i < kMostValues; i++)
    if (!other.ranges[i].empty()) add_ranges(&ranges[i], other.ranges[i]);
}

void HistSeries::Counts::clear() {
  values.fill(0);
  std::fill(log2.begin(), log2.end(), 0);
  for (HistRanges& one : ranges) one.clear();
}

HistSeries::HistSeries(const HistPlace& place, const Labels& process, size_t most_keys,
                       const HistImage& columns)
    : process_(process),
      prefix_("patchbay_" + lower(metric_name(place.system + "_" + place.event)) + "_"),
      about_(place.system + ":" + place.event),
      most_keys_(most_keys),
      keys_(columns.keys),
      values_(values_of(columns)) {
  own_ = process;
  if (!place.instance.empty()) own_.add("instance", place.instance);
  own_.add("system", place.system);
  own_.add("event", place.event);
  own_.add("hist", short_definition(place.definition));
  std::set<std::string> names;
  for (size_t i = 0; i < keys_.size(); i++) {
    std::string name = metric_name(keys_[i].name);
    if (kReserved.contains(name) || name.starts_with("__")) name = "key_" + name;
    while (!names.insert(name).second) name += "_";
    label_names_.push_back(name);
    if (keys_[i].form == HistForm::kLog2 && log2_key_ >= keys_.size()) log2_key_ = i;
  }
  name_families();
}

// Fields may differ in what no name of a metric has.
void HistSeries::name_families() {
  std::set<std::string> taken = {prefix_ + "hits"};
  for (const std::vector<HistColumn>* columns : {&keys_, &values_})
    for (const HistColumn& column : *columns) {
      if (names_.contains(column.name)) continue;
      const std::string_view field = column.name;
      std::string name = prefix_ + lower(metric_name(field.substr(field.starts_with('$') ? 1 : 0)));
      while (!taken.insert(name).second) name += "_";
      names_[column.name] = name;
    }
}

bool HistSeries::has_sign(const std::string& field) const {
  for (const std::vector<HistColumn>* columns : {&keys_, &values_})
    for (const HistColumn& column : *columns)
      if (column.name == field && column.is_signed) return true;
  return false;
}

// --- a look

HistSeries::Slot* HistSeries::other() {
  if (!other_) {
    slots_.emplace_back();
    other_ = &slots_.back();
    other_->labels = own_;
    for (size_t i = 0; i < label_names_.size(); i++)
      if (i != log2_key_) other_->labels.add(label_names_[i], "other");
    other_->labels.add("other", "true");
    if (log2_key_ < keys_.size())
      for (Counts* counts : {&other_->base, &other_->last, &other_->now})
        counts->log2.resize(kLog2Ranges);
  }
  return other_;
}

HistSeries::Slot* HistSeries::slot_of(Labels labels) {
  if (const auto at = by_labels_.find(labels.text); at != by_labels_.end()) return at->second;
  if (by_labels_.size() >= most_keys_) return other();
  slots_.emplace_back();
  Slot* slot = &slots_.back();
  if (log2_key_ < keys_.size())
    for (Counts* counts : {&slot->base, &slot->last, &slot->now}) counts->log2.resize(kLog2Ranges);
  by_labels_[labels.text] = slot;
  slot->labels = std::move(labels);
  return slot;
}

// What has no slot of its own is not remembered, however many there are.
HistSeries::Found HistSeries::find(const HistImage& image, const HistRow& row) {
  if (const auto at = by_key_.find(row.key); at != by_key_.end()) return at->second;
  const auto parts = image.parts_of(row.key);
  Found found;
  Labels labels = own_;
  bool has_names = false;
  for (size_t i = 0; i < keys_.size(); i++) {
    has_names |= keys_[i].has_names();
    if (i == log2_key_)
      found.range = uint32_t(std::min<uint64_t>(parts[i].number, 64));
    else
      labels.add(label_names_[i], key_text(image, keys_[i], parts[i]));
  }
  found.slot = slot_of(std::move(labels));
  // It only saves time. The number of a name is another one in the next image.
  if (found.slot != other_ && !has_names && by_key_.size() < 4 * most_keys_)
    by_key_.emplace(row.key, found);
  return found;
}

void HistSeries::take(const HistImage& image, const HistRow& row) {
  const Found found = find(image, row);
  Counts& now = found.slot->now;
  if (found.range < now.log2.size()) now.log2[found.range] += row.values[0];
  now.values[0] += row.values[0];
  for (size_t i = 0; i < values_.size(); i++) {
    now.values[i + 1] += row.values[i + 1];
    if (values_[i].has_ranges()) add_ranges(&now.ranges[i + 1], row.ranges[i + 1]);
  }
}

void HistSeries::restart() {
  for (Slot& slot : slots_) {
    slot.base.add(slot.last);
    slot.last.clear();
  }
}

void HistSeries::look(const HistImage& image) {
  if (!same_columns(keys_, image.keys) || !same_columns(values_, values_of(image))) return;
  for (Slot& slot : slots_) slot.now.clear();
  if (!has_looked_ && image.rows.size() > most_keys_) {
    for (const uint32_t index : largest_first(image)) take(image, image.rows[index]);
  } else {
    for (const HistRow& row : image.rows) take(image, row);
  }
  has_looked_ = true;
  bool has_less = false;
  for (const Slot& slot : slots_) has_less |= slot.now.values[0] < slot.last.values[0];
  if (has_less) restart();
  for (Slot& slot : slots_) std::swap(slot.last, slot.now);
  dropped_.look(image.dropped);
}

// --- what is shown

void HistSeries::show_histograms(Families* families) {
  if (log2_key_ < keys_.size()) {
    const std::string& field = keys_[log2_key_].name;
    size_t sum = 0;  // of the same field, where it is summed up
    for (size_t i = 0; i < values_.size(); i++)
      if (values_[i].name == field) sum = i + 1;
    // Its bounds are other ones than those of .counters.
    Family& family = families->get(name_of(field) + "_log2", MetricType::kHistogram,
                                   "Values of " + field + " of the event " + about_ + ".");
    family.has_sign |= has_sign(field);
    for (const Slot& slot : slots_) {
      HistogramSample sample{&slot.labels, {}, {}};
      if (sum) sample.sum = slot.base.values[sum] + slot.last.values[sum];
      for (uint32_t i = 0; i < kLog2Ranges; i++)
        if (const uint64_t hits = slot.base.log2[i] + slot.last.log2[i])
          sample.ranges.emplace_back(i, hits);
      family.histograms.push_back(std::move(sample));
    }
  }
  for (size_t i = 0; i < values_.size(); i++) {
    if (!values_[i].has_ranges() || is_shown_elsewhere(i)) continue;
    Family& family = families->get(name_of(values_[i].name), MetricType::kHistogram,
                                   "Values of " + values_[i].name + " of the event " + about_ + ".",
                                   RangeKind::kQuantiles);
    family.has_sign |= has_sign(values_[i].name);
    for (const Slot& slot : slots_) {
      HistRanges all = slot.base.ranges[i + 1];
      add_ranges(&all, slot.last.ranges[i + 1]);
      family.histograms.push_back(
          {&slot.labels, slot.base.values[i + 1] + slot.last.values[i + 1], std::move(all)});
    }
  }
}

void HistSeries::show(Families* families) {
  show_histograms(families);
  families
      ->get("patchbay_hist_dropped_hits", MetricType::kCounter,
            "Hits whose key had no room in the table of a histogram (its size=).")
      .samples.push_back({&own_, dropped_.value()});
  if (log2_key_ < keys_.size()) return;
  show_counters(families);
}

// A sum is there once: the values size and size.hex have the same, and so has the histogram of a
// field with a sign. So is a histogram.
bool HistSeries::is_shown_elsewhere(size_t index) const {
  const HistColumn& value = values_[index];
  for (size_t i = 0; i < values_.size(); i++) {
    if (i == index || values_[i].name != value.name) continue;
    if (values_[i].has_ranges() == value.has_ranges() ? i < index
                                                      : !value.has_ranges() && value.is_signed)
      return true;
  }
  return false;
}

// Hits that a histogram counts are not counted once more.
void HistSeries::show_counters(Families* families) {
  const bool has_histogram = std::any_of(values_.begin(), values_.end(),
                                         [](const HistColumn& one) { return one.has_ranges(); });
  if (!has_histogram) show_hits(families);
  for (size_t i = 0; i < values_.size(); i++) {
    const HistColumn& value = values_[i];
    if (value.has_ranges() || is_shown_elsewhere(i)) continue;
    const bool is_gauge = has_sign(value.name);
    Family& family =
        families->get(name_of(value.name) + (is_gauge ? "_net" : ""),
                      is_gauge ? MetricType::kGauge : MetricType::kCounter,
                      "Sum of " + value.name + " over the hits of the event " + about_ + ".");
    for (const Slot& slot : slots_)
      family.samples.push_back({&slot.labels, slot.base.values[i + 1] + slot.last.values[i + 1]});
  }
}

void HistSeries::show_hits(Families* families) {
  Family& hits =
      families->get(prefix_ + "hits", MetricType::kCounter, "Hits of the event " + about_ + ".");
  for (const Slot& slot : slots_)
    hits.samples.push_back({&slot.labels, slot.base.values[0] + slot.last.values[0]});
}

}  // namespace patchbay::cmd
