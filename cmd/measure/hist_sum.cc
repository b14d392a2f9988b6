// SPDX-License-Identifier: MIT
#include "cmd/measure/hist_sum.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/text.h"
#include "cmd/measure/hist_columns.h"
#include "cmd/measure/hist_entries.h"
#include "hist/hist_table.h"
#include "hist/text/hist_values.h"
#include "output/text_put.h"

namespace patchbay::cmd {
namespace {

constexpr std::string_view kCounters = kHistCountersEnd, kHits = "hitcount";
constexpr uint64_t kPageOffset = 0xfff;  // of an address: the same wherever its file is loaded

// --- definitions

struct DefinitionText {
  std::vector<std::string> parts;  // "hist", "keys=n"
  std::string filter;              // " if n > 3"

  explicit DefinitionText(std::string_view text) {
    const size_t end = std::min(text.find(" if "), text.size());
    filter = text.substr(end);
    for (std::string_view rest = text.substr(0, end); !rest.empty();)
      parts.emplace_back(cut_at(&rest, ':'));
  }
  std::string text() const { return join(parts, ":") + filter; }
};

// Behind "vals=" in each of its spellings; nothing: it is another part.
std::optional<std::string_view> values_in(std::string_view part) {
  for (const std::string_view name : {"vals=", "val=", "values=", "value="})
    if (part.starts_with(name)) return part.substr(name.size());
  return std::nullopt;
}

bool is_action(std::string_view part) {
  return part.starts_with("onmatch(") || part.starts_with("onmax(") ||
         part.starts_with("onchange(");
}

// percent, graph, quantiles: what cannot be added up as it is shown.
std::string shown_modifier(std::string_view modifier) {
  for (const std::string_view name : {"percent", "graph", "quantiles"})
    if (modifier.starts_with(name)) return std::string(name);
  return "";
}

std::string summable_value(std::string_view value) {
  const HistColumn column = hist_column(value);
  const std::string shown = shown_modifier(column.modifier);
  if (shown.empty()) return std::string(value);
  return shown == "quantiles" ? column.name + std::string(kCounters) : column.name;
}

std::vector<std::string_view> words_of(std::string_view list) {
  std::vector<std::string_view> words;
  while (!list.empty()) words.push_back(cut_at(&list, ','));
  return words;
}

std::vector<std::string> asked_values(const DefinitionText& asked) {
  std::vector<std::string> values;
  for (const std::string& part : asked.parts)
    if (const auto list = values_in(part))
      for (const std::string_view word : words_of(*list)) values.emplace_back(word);
  return values;
}

bool hides_hits(const DefinitionText& definition) {
  return std::find(definition.parts.begin(), definition.parts.end(), "nohitcount") !=
         definition.parts.end();
}

// "lat.counters" as it was asked for, where the sum stands under this name: "lat.quantiles".
std::string asked_value(const std::string& listed, const std::string& asked) {
  const std::string shown = shown_modifier(hist_column(asked).modifier);
  const std::string name =
      listed.substr(0, listed.size() - (listed.ends_with(kCounters) ? kCounters.size() : 0));
  return shown.empty() ? listed : name + "." + shown;
}

// --- the columns of the sum

struct SumColumn {
  std::string name;
  std::string modifier;  // how it is shown
  size_t read = 0;       // which of the values of a text
  uint64_t total = 0, most = 0;
};

// What the agent calls the definition that was written, as it calls the one that was asked for; and
// the columns of its values, the first of which counts the hits.
class SumDefinition {
 public:
  SumDefinition(std::string_view listing, const HistSumShape& shape);

  std::string text() const { return listed_.text(); }
  bool shows_hits() const { return !hides_hits_; }
  const std::vector<HistColumn>& keys() const { return keys_; }
  // Of all values, also of those that no text has.
  const std::vector<HistColumn>& values() const { return values_; }
  // As the texts have them.
  const std::vector<HistColumn>& written() const { return written_; }
  struct Sort {
    bool is_value = false, descending = false;
    size_t index = 0;  // of keys() or values()
  };
  std::vector<Sort> sorts() const;

 private:
  void replace_values();

  DefinitionText listed_;
  const DefinitionText asked_;
  const bool hides_hits_;
  std::vector<HistColumn> keys_, values_;
  const std::vector<HistColumn> written_;
  std::vector<std::string> listed_values_, listed_sorts_;
  std::vector<size_t> places_;  // of the listed values in values_
};

SumDefinition::SumDefinition(std::string_view listing, const HistSumShape& shape)
    : listed_(listing),
      asked_(shape.definition),
      hides_hits_(hides_hits(asked_)),
      keys_(hist_columns(listing, "keys=")),
      written_(hist_columns(listing, "vals=")) {
  replace_values();
  if (hides_hits_) listed_.parts.emplace_back("nohitcount");
}

void SumDefinition::replace_values() {
  std::vector<std::string> shown;
  for (std::string& part : listed_.parts)
    if (const auto list = values_in(part)) {
      for (const std::string_view word : words_of(*list)) listed_values_.emplace_back(word);
      part = "vals=";
    }
  if (!hides_hits_) shown.emplace_back(kHits);
  values_.push_back({std::string(kHits), ""});
  places_.push_back(0);
  size_t next = 1;  // of listed_values_
  for (const std::string& asked : asked_values(asked_)) {
    if (asked == kHits) continue;
    const bool is_of_hits = summable_value(asked) == kHits;  // hitcount.percent
    if (!is_of_hits && next >= listed_values_.size()) break;
    shown.push_back(asked_value(is_of_hits ? std::string(kHits) : listed_values_[next], asked));
    if (!is_of_hits) places_.push_back(values_.size());
    values_.push_back(hist_column(shown.back()));
    next += !is_of_hits;
  }
  for (std::string& part : listed_.parts) {
    if (part == "vals=") part += join(shown, ",");
    if (!part.starts_with("sort=")) continue;
    for (const std::string_view word : words_of(std::string_view(part).substr(5)))
      listed_sorts_.emplace_back(word);
    std::vector<std::string> words = listed_sorts_;
    for (std::string& word : words)
      for (size_t i = 1; i < places_.size(); i++) {
        const bool goes_down = word == listed_values_[i] + ".descending";
        if (!goes_down && word != listed_values_[i]) continue;
        const HistColumn& value = values_[places_[i]];
        word = value.name + (value.modifier.empty() ? "" : "." + value.modifier) +
               (goes_down ? ".descending" : "");
        break;
      }
    part = "sort=" + join(words, ",");
  }
}

std::vector<SumDefinition::Sort> SumDefinition::sorts() const {
  std::vector<Sort> sorts;
  for (std::string_view word : listed_sorts_) {
    Sort sort;
    constexpr std::string_view kDescending = ".descending";
    sort.descending = word.ends_with(kDescending);
    if (sort.descending) word.remove_suffix(kDescending.size());
    const auto value = std::find(listed_values_.begin(), listed_values_.end(), word);
    const HistColumn key = hist_column(word);
    const auto at = std::find_if(keys_.begin(), keys_.end(), [&](const HistColumn& one) {
      return one.name == key.name && one.modifier == key.modifier;
    });
    sort.is_value = value != listed_values_.end() || at == keys_.end();
    sort.index = size_t(at - keys_.begin());
    if (sort.is_value) {
      const auto place = size_t(value - listed_values_.begin());
      sort.index = place < places_.size() ? places_[place] : 0;
    }
    sorts.push_back(sort);
  }
  return sorts;
}

// --- the entries

bool is_symbol(const HistColumn& key) {
  return key.modifier == "sym" || key.modifier == "sym-offset";
}

// An address and its symbol: "[5581…] main".
struct SymbolText {
  std::optional<uint64_t> address;
  std::string_view name;
};
std::optional<SymbolText> symbol_in(std::string_view text) {
  const size_t close = text.find("] ");
  if (!text.starts_with('[') || close == text.npos) return std::nullopt;
  return SymbolText{hist_number(text.substr(1, close - 1), 16), text.substr(close + 2)};
}

// The digits of the addresses of symbols in a key; "*" where there are several.
std::vector<std::string_view> addresses_in(std::string_view key,
                                           const std::vector<HistColumn>& keys) {
  std::vector<std::string_view> found;
  const std::vector<HistKeyPart> parts = hist_key_parts(key, keys);
  for (size_t i = 0; i < parts.size(); i++)
    if (is_symbol(keys[i]) && symbol_in(parts[i].text))
      found.push_back(parts[i].text.substr(1, parts[i].text.find(']') - 1));
  return found;
}

// Where `key`, which is the same one, has another address.
void mark_other_addresses(std::string* shown, std::string_view key,
                          const std::vector<HistColumn>& keys) {
  const std::vector<std::string_view> others = addresses_in(key, keys);
  std::vector<std::string_view> own = addresses_in(*shown, keys);
  for (size_t i = std::min(own.size(), others.size()); i-- > 0;)  // what stands before stays there
    if (own[i] != others[i])
      shown->replace(size_t(own[i].data() - shown->data()), own[i].size(), kHistSeveral);
}

struct SumEntry {
  std::string key;  // as it is shown, without its braces
  std::vector<uint64_t> values;
  std::vector<HistCounters> counters;  // of those values that have them
};

struct SortKey {
  uint64_t word = 0;
  std::string text;
};

// What a value of a key is sorted by, as the table of one process is (hist/text/hist_sort.cc).
SortKey sort_key(const HistColumn& key, const HistKeyPart& part, bool is_signed) {
  const std::string_view text = part.text;
  if (part.is_stack) return {};
  if (is_symbol(key)) {
    const auto symbol = symbol_in(text);
    return {symbol ? symbol->address.value_or(0) : 0, std::string(symbol ? symbol->name : text)};
  }
  const auto as_text = [&] { return SortKey{0, std::string(without_hist_padding(text))}; };
  if (text.size() >= kHistKeyTextWidth) return as_text();
  std::optional<uint64_t> number;
  if (key.modifier == "execname" || key.modifier == "syscall") {
    const size_t open = text.rfind('[');
    if (open != text.npos && text.ends_with(']'))
      number = hist_number(text.substr(open + 1, text.size() - open - 2));
    return number ? SortKey{*number, ""} : as_text();
  }
  if (text.starts_with("~ 2^"))
    number = hist_number(without_hist_padding(text.substr(4)));
  else if (text.starts_with("~ "))
    number = hist_number(text.substr(2, text.find('-') - 2));
  else if ((number = hist_number(text, key.modifier == "hex" ? 16 : 10)) && is_signed)
    *number ^= uint64_t{1} << 63;
  return number ? SortKey{*number, ""} : as_text();
}

class HistSum {
 public:
  HistSum(std::string_view listing, const HistSumShape& shape)
      : shape_(shape), definition_(listing, shape) {}

  void add(std::string_view text);
  std::string text(bool is_paused);

 private:
  SumEntry& entry_of(std::string_view key);
  void choose_columns(const std::vector<HistValue>& values);
  void add_values(SumEntry* entry, std::vector<HistValue>* values);
  std::vector<uint32_t> sorted() const;
  SortKey level_of(const SumEntry& entry, const SumDefinition::Sort& sort) const;
  void put_notes(std::string* out) const;
  void put_entry(std::string* out, const SumEntry& entry) const;

  const HistSumShape& shape_;
  const SumDefinition definition_;
  std::vector<SumColumn> columns_;  // of the values that texts have
  std::vector<SumEntry> entries_;   // in the order in which their keys were met
  std::unordered_map<std::string, size_t> by_key_;
  HistTotals totals_;
};

// What texts have of the values, they have in this order.
void HistSum::choose_columns(const std::vector<HistValue>& values) {
  size_t next = 0;
  for (size_t i = 0; i < definition_.values().size(); i++) {
    const HistColumn& value = definition_.values()[i];
    const bool is_of_hits =
        value.name == kHits && (i == 0 || value.modifier == "percent" || value.modifier == "graph");
    const std::string_view name =
        std::string_view(value.name).substr(value.name.starts_with('$') ? 1 : 0);
    if (is_of_hits) {
      columns_.push_back({std::string(kHits), value.modifier, 0});
      next = std::max<size_t>(next, 1);
    } else if (next < values.size() && values[next].name == name) {
      columns_.push_back({std::string(name), value.modifier, next++});
    }
  }
}

SumEntry& HistSum::entry_of(std::string_view key) {
  std::string id;
  const char* at = key.data();
  for (const std::string_view digits : addresses_in(key, definition_.keys())) {
    id.append(at, digits.data());
    put_hex(&id, hist_number(digits, 16).value_or(0) & kPageOffset);
    at = digits.data() + digits.size();
  }
  id.append(at, key.data() + key.size());
  const auto [known, is_new] = by_key_.try_emplace(std::move(id), entries_.size());
  if (is_new) entries_.push_back({std::string(key), {}, {}});
  SumEntry& entry = entries_[known->second];
  if (!is_new && entry.key != key) mark_other_addresses(&entry.key, key, definition_.keys());
  return entry;
}

void HistSum::add_values(SumEntry* entry, std::vector<HistValue>* values) {
  entry->values.resize(std::max(entry->values.size(), values->size()));
  entry->counters.resize(entry->values.size());
  for (size_t i = 0; i < values->size(); i++) {
    entry->values[i] += (*values)[i].number;
    if ((*values)[i].counters) entry->counters[i].add(*(*values)[i].counters);
  }
}

uint64_t total_in(std::string_view text, std::string_view name) {
  const size_t at = text.rfind(name);
  if (at == text.npos) return 0;
  std::string_view rest = text.substr(at + name.size());
  return hist_number(cut_at(&rest, '\n')).value_or(0);
}

void HistSum::add(std::string_view text) {
  for (const HistEntry& one : hist_entries(text)) {
    std::vector<HistValue> values = hist_values(one.values, definition_.written());
    if (columns_.empty()) choose_columns(values);
    add_values(&entry_of(one.key), &values);
  }
  totals_.hits += total_in(text, "\n    Hits: ");
  totals_.dropped += total_in(text, "\n    Dropped: ");
}

SortKey HistSum::level_of(const SumEntry& entry, const SumDefinition::Sort& sort) const {
  if (!sort.is_value) {
    const std::vector<HistKeyPart> parts = hist_key_parts(entry.key, definition_.keys());
    if (sort.index >= parts.size()) return {};
    const HistColumn& key = definition_.keys()[sort.index];
    return sort_key(key, parts[sort.index], shape_.signed_fields.contains(key.name));
  }
  const HistColumn& value = definition_.values()[sort.index];
  size_t read = 0;
  for (const SumColumn& column : columns_)
    if (column.name == value.name && column.modifier == value.modifier) read = column.read;
  return {read < entry.values.size() ? entry.values[read] : 0, ""};
}

std::vector<uint32_t> HistSum::sorted() const {
  const std::vector<SumDefinition::Sort> sorts = definition_.sorts();
  std::vector<std::vector<SortKey>> levels;
  for (const SumDefinition::Sort& sort : sorts) {
    levels.emplace_back();
    for (const SumEntry& entry : entries_) levels.back().push_back(level_of(entry, sort));
  }
  std::vector<uint32_t> order(entries_.size());
  for (uint32_t i = 0; i < order.size(); i++) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    for (size_t i = 0; i < levels.size(); i++) {
      const SortKey &one = levels[i][a], &other = levels[i][b];
      if (one.word != other.word) return (one.word < other.word) != sorts[i].descending;
      if (const int way = one.text.compare(other.text)) return (way < 0) != sorts[i].descending;
    }
    return false;
  });
  return order;
}

void HistSum::put_notes(std::string* out) const {
  for (const HistColumn& value : definition_.values()) {
    if (value.modifier == "quantiles") *out += hist_quantile_note(value.name);
    if (value.modifier == "counters") *out += hist_counter_note(value.name);
  }
}

void HistSum::put_entry(std::string* out, const SumEntry& entry) const {
  *out += "{ " + entry.key + "}";
  for (const SumColumn& column : columns_) {
    const bool is_first = &column == &columns_.front();
    if (is_first && !definition_.shows_hits()) continue;
    const uint64_t value = entry.values[column.read];
    *out += is_first ? " " : "  ";
    if (column.modifier == "quantiles" || column.modifier == "counters") {
      out->pop_back();  // they begin with it
      const std::vector<uint64_t> counters = entry.counters[column.read].counters();
      if (column.modifier == "quantiles")
        put_hist_quantiles(out, column.name, counters);
      else
        put_hist_counters(out, column.name, value, counters);
      continue;
    }
    *out += column.name;
    if (column.modifier == "percent") {
      put_hist_percent(out, value, column.total);
    } else if (column.modifier == "graph") {
      put_hist_graph(out, value, column.most);
    } else {
      *out += ": ";
      put_padded(out, value, kHistNumberWidth, ' ', column.modifier == "hex" ? 16 : 10);
    }
  }
  *out += '\n';
}

std::string HistSum::text(bool is_paused) {
  for (SumEntry& entry : entries_) {
    size_t most = 1;
    for (const SumColumn& column : columns_) most = std::max(most, column.read + 1);
    entry.values.resize(std::max(entry.values.size(), most));
    entry.counters.resize(entry.values.size());
  }
  for (SumColumn& column : columns_)
    for (const SumEntry& entry : entries_) {
      column.total += entry.values[column.read];
      column.most = std::max(column.most, entry.values[column.read]);
    }
  std::string out = "# event histogram\n#\n# trigger info: " + definition_.text() +
                    (is_paused ? " [paused]\n#\n" : " [active]\n#\n");
  put_notes(&out);
  out += '\n';
  for (const uint32_t index : sorted()) put_entry(&out, entries_[index]);
  totals_.entries = entries_.size();
  put_hist_totals(&out, totals_);
  return out;
}

}  // namespace

Result<std::string> summable_definition(std::string_view definition) {
  DefinitionText text(definition);
  const std::vector<std::string> values = asked_values(text);
  const bool has_values = std::any_of(values.begin(), values.end(),
                                      [](const std::string& value) { return value != kHits; });
  for (std::string& part : text.parts) {
    if (is_action(part))
      return user_error(EINVAL, part +
                                    ": what an action keeps is of one process: count it in each "
                                    "with -p PID.");
    const auto list = values_in(part);
    if (!list) continue;
    std::vector<std::string> words;
    for (const std::string_view word : words_of(*list)) words.push_back(summable_value(word));
    part = "vals=" + join(words, ",");
  }
  // Without another value it is refused, in each process as in one.
  if (has_values) std::erase(text.parts, "nohitcount");
  return text.text();
}

std::string hist_sum(const std::vector<std::string>& texts, const HistSumShape& shape) {
  std::optional<HistSum> sum;
  bool is_paused = false;
  for (const std::string& text : texts) {
    const std::string listing = hist_definition(text);
    if (listing.empty()) continue;
    if (!sum) {
      sum.emplace(listing, shape);
      is_paused = text.find("# trigger info: " + listing + " [paused]") != text.npos;
    }
    sum->add(text);
  }
  return sum ? sum->text(is_paused) : "";
}

std::string hist_part_sum(const std::vector<std::string>& texts, const HistSumShape& shape) {
  for (const std::string& text : texts) {
    const std::vector<HistColumn> keys = hist_columns(hist_definition(text), "keys=");
    if (std::any_of(keys.begin(), keys.end(), is_symbol)) return "";
  }
  const Result<std::string> written = summable_definition(shape.definition);
  return written.ok() ? hist_sum(texts, {written.value(), shape.signed_fields}) : "";
}

}  // namespace patchbay::cmd
