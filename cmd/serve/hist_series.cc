// SPDX-License-Identifier: MIT
#include "cmd/serve/hist_series.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "cmd/measure/hist_entries.h"

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

// "[5581…] main" -> "main": the address is another one in each process.
std::string_view symbol_name(std::string_view text) {
  const size_t close = text.find("] ");
  return text.starts_with('[') && close != text.npos ? text.substr(close + 2) : text;
}

// Functions of a stack as in a flame graph, the innermost last.
std::string folded(std::string_view text) {
  std::string stack;
  while (!text.empty()) {
    const std::string_view line = trim(cut_at(&text, '\n'));
    if (!line.empty()) stack = std::string(line) + (stack.empty() ? "" : ";" + stack);
  }
  return stack;
}

std::string key_text(const HistColumn& key, const HistKeyPart& part) {
  if (part.is_stack) return folded(part.text);
  const std::string_view text = trim(part.text, " ");
  if (key.modifier == "sym" || key.modifier == "sym-offset") return std::string(symbol_name(text));
  if (key.modifier == "buckets" && text.starts_with("~ ")) return std::string(text.substr(2));
  if (key.modifier == "execname" || key.modifier == "syscall") {
    // "sh       [      1234]" -> "sh[1234]"
    const size_t open = text.rfind('[');
    if (open != text.npos)
      return std::string(trim(text.substr(0, open), " ")) + "[" +
             std::string(trim_front(text.substr(open + 1), " "));
  }
  return key.modifier == "hex" ? "0x" + std::string(text) : std::string(text);
}

// "~ 2^5" -> 5; else 0.
uint32_t log2_range(std::string_view text) {
  text = trim(text, " ");
  uint32_t power = 0;
  if (!text.starts_with("~ 2^") || !to_number(trim(text.substr(4), " "), &power)) return 0;
  return std::min(power, 64u);
}

bool is_summed(const HistColumn& value) {
  return value.modifier.empty() || value.modifier == "hex" || value.modifier == "counters";
}

}  // namespace

void HistSeries::Counts::add(const Counts& other) {
  for (size_t i = 0; i < kMostValues; i++) values[i] += other.values[i];
  for (size_t i = 0; i < log2.size() && i < other.log2.size(); i++) log2[i] += other.log2[i];
  for (size_t i = 0; i < kMostValues; i++)
    if (!other.counters[i].ranges.empty()) counters[i].add(other.counters[i]);
}

void HistSeries::Counts::clear() {
  values.fill(0);
  std::fill(log2.begin(), log2.end(), 0);
  for (HistCounters& one : counters) one = {};
}

HistSeries::HistSeries(const HistPlace& place, const Labels& process, size_t most_keys)
    : process_(process),
      definition_(place.definition),
      prefix_("patchbay_" + lower(metric_name(place.system + "_" + place.event)) + "_"),
      about_(place.system + ":" + place.event),
      most_keys_(most_keys),
      signed_fields_(place.signed_fields.begin(), place.signed_fields.end()),
      keys_(hist_columns(place.definition, "keys=")),
      values_(hist_columns(place.definition, "vals=")) {
  std::erase_if(values_, [](const HistColumn& one) { return one.name == "hitcount"; });
  if (values_.size() > kMostValues - 1) values_.resize(kMostValues - 1);
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
    if (keys_[i].modifier == "log2" && log2_key_ >= keys_.size()) log2_key_ = i;
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

// With the sign that the file `hist` leaves out.
std::string HistSeries::key_label(size_t index, const HistKeyPart& part) const {
  const HistColumn& key = keys_[index];
  const bool is_plain = key.modifier.empty() && has_sign(key.name) && !part.is_stack;
  const auto number = is_plain ? hist_number(part.text) : std::nullopt;
  return number ? std::to_string(int64_t(*number)) : key_text(key, part);
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

HistSeries::Slot* HistSeries::slot_of(const std::vector<HistKeyPart>& parts) {
  Labels labels = own_;
  for (size_t i = 0; i < parts.size(); i++)
    if (i != log2_key_) labels.add(label_names_[i], key_label(i, parts[i]));
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
HistSeries::Found HistSeries::find(std::string_view key) {
  if (const auto at = by_key_.find(key); at != by_key_.end()) return at->second;
  const std::vector<HistKeyPart> parts = hist_key_parts(key, keys_);
  Found found;
  if (log2_key_ < parts.size()) found.range = log2_range(parts[log2_key_].text);
  found.slot = parts.size() == keys_.size() ? slot_of(parts) : other();
  // It only saves time. Keys that are long, or come in ever new forms, are taken apart each time.
  constexpr size_t kLongKey = 1024;
  if (found.slot != other_ && key.size() <= kLongKey && by_key_.size() < 4 * most_keys_)
    by_key_.emplace(std::string(key), found);
  return found;
}

void HistSeries::take(std::string_view key, std::string_view text) {
  const Found found = find(key);
  Counts& now = found.slot->now;
  size_t next = 0;  // of values_
  for (HistValue& value : hist_values(text, values_)) {
    if (value.name == "hitcount") {
      now.values[0] += value.number;
      if (found.range < now.log2.size()) now.log2[found.range] += value.number;
      continue;
    }
    std::string_view name = value.name;
    for (size_t i = next; i < values_.size(); i++) {
      std::string_view own = values_[i].name;
      if (own.starts_with('$')) own.remove_prefix(1);
      if (own != name || !is_summed(values_[i])) continue;
      now.values[i + 1] += value.number;
      if (value.counters) now.counters[i + 1].add(*value.counters);
      next = i + 1;
      break;
    }
  }
}

void HistSeries::restart() {
  for (Slot& slot : slots_) {
    slot.base.add(slot.last);
    slot.last.clear();
  }
}

void HistSeries::look(std::string_view text) {
  std::vector<HistEntry> entries = hist_entries(text);
  for (Slot& slot : slots_) slot.now.clear();
  if (!has_looked_ && entries.size() > most_keys_) {
    // Those with most hits first: they get the slots.
    std::vector<std::pair<uint64_t, size_t>> order;
    for (size_t i = 0; i < entries.size(); i++) {
      const std::vector<HistValue> values = hist_values(entries[i].values, values_);
      order.emplace_back(values.empty() ? 0 : values[0].number, i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& one : order) take(entries[one.second].key, entries[one.second].values);
  } else {
    for (const HistEntry& entry : entries) take(entry.key, entry.values);
  }
  has_looked_ = true;
  bool has_less = false;
  for (const Slot& slot : slots_) has_less |= slot.now.values[0] < slot.last.values[0];
  if (has_less) restart();
  for (Slot& slot : slots_) std::swap(slot.last, slot.now);
  constexpr std::string_view kDropped = "\n    Dropped: ";
  const size_t at = text.rfind(kDropped);
  if (at == text.npos) return;
  text.remove_prefix(at + kDropped.size());
  uint64_t dropped = 0;
  if (to_number(text.substr(0, text.find('\n')), &dropped)) dropped_.look(dropped);
}

// --- what is shown

void HistSeries::show_histograms(Families* families) {
  if (log2_key_ < keys_.size()) {
    const std::string& field = keys_[log2_key_].name;
    size_t sum = 0;  // of the same field, where it is summed up
    for (size_t i = 0; i < values_.size(); i++)
      if (values_[i].name == field && is_summed(values_[i])) sum = i + 1;
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
    if (values_[i].modifier != "counters") continue;
    Family& family = families->get(name_of(values_[i].name), MetricType::kHistogram,
                                   "Values of " + values_[i].name + " of the event " + about_ + ".",
                                   RangeKind::kQuantiles);
    family.has_sign |= has_sign(values_[i].name);
    for (const Slot& slot : slots_) {
      HistCounters all = slot.base.counters[i + 1];
      all.add(slot.last.counters[i + 1]);
      family.histograms.push_back(
          {&slot.labels, slot.base.values[i + 1] + slot.last.values[i + 1], std::move(all.ranges)});
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
// field with a sign.
bool HistSeries::is_shown_elsewhere(size_t index) const {
  const HistColumn& value = values_[index];
  for (size_t i = 0; i < values_.size(); i++) {
    if (i == index || values_[i].name != value.name || !is_summed(values_[i])) continue;
    if (values_[i].modifier == "counters" ? has_sign(value.name) : i < index) return true;
  }
  return false;
}

// Hits that a histogram counts are not counted once more.
void HistSeries::show_counters(Families* families) {
  const bool has_histogram = std::any_of(values_.begin(), values_.end(), [](const HistColumn& one) {
    return one.modifier == "counters";
  });
  if (!has_histogram) show_hits(families);
  for (size_t i = 0; i < values_.size(); i++) {
    const HistColumn& value = values_[i];
    if (!is_summed(value) || value.modifier == "counters" || is_shown_elsewhere(i)) continue;
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
