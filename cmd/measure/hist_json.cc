// SPDX-License-Identifier: MIT
#include "cmd/measure/hist_json.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <set>
#include <vector>

#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/measure/hist_columns.h"
#include "cmd/measure/hist_entries.h"
#include "hist/quantile_buckets.h"
#include "hist/text/hist_values.h"

namespace patchbay::cmd {
namespace {

// hist/text/hist_text.cc
constexpr size_t kSavedTextWidth = 32, kNumberWidth = 10, kBarWidth = 20;

std::string quoted(std::string_view text) { return json_quote(without_hist_padding(text)); }

// Both ends belong to it.
std::string range(uint64_t from, uint64_t to) {
  return "{\"from\": " + std::to_string(from) + ", \"to\": " + std::to_string(to) + "}";
}

std::string log2_range(uint64_t power) {
  const uint64_t low = power == 0 ? 0 : power > 64 ? ~uint64_t{0} : uint64_t{1} << (power - 1);
  const uint64_t high = power < 64 ? uint64_t{1} << power : ~uint64_t{0};
  return range(power == 0 ? 0 : low + 1, high);
}

// "[5581…] main", "sh    [      1234]", "sys_read   [  0]": a name and a number, either first.
std::string named(std::string_view text, const char* name, const char* number, int base) {
  const size_t open = base == 16 ? 0 : text.rfind('[');
  const size_t close = base == 16 ? text.find(']') : text.size() - 1;
  if (open == text.npos || close == text.npos || close <= open) return quoted(text);
  const std::string_view digits = text.substr(open + 1, close - open - 1);
  const auto value = hist_number(digits, base);
  if (!value && digits != kHistSeveral) return quoted(text);
  std::string_view other = base == 16 ? text.substr(close + 1) : text.substr(0, open);
  if (other.starts_with(' ')) other.remove_prefix(1);
  const std::string shown = std::string("{\"") + name + "\": " + quoted(other);
  return value ? shown + ", \"" + number + "\": " + std::to_string(*value) + "}" : shown + "}";
}

// Blanks and a number; nothing: it is none.
std::optional<std::string> number_json(std::string_view text, int base) {
  const auto value = hist_number(text, base);
  if (!value) return std::nullopt;
  return text.find('-') == text.npos ? std::to_string(*value) : std::to_string(int64_t(*value));
}

std::string key_value(const HistColumn& field, std::string_view text) {
  const std::string_view modifier = field.modifier;
  if (modifier == "sym" || modifier == "sym-offset") return named(text, "symbol", "address", 16);
  if (text.size() >= kHistKeyTextWidth) return quoted(text);
  if (modifier == "execname") return named(text, "comm", "pid", 10);
  if (modifier == "syscall") return named(text, "syscall", "number", 10);
  if (text.starts_with("~ 2^")) {
    const auto power = hist_number(without_hist_padding(text.substr(4)));
    return power ? log2_range(*power) : quoted(text);
  }
  if (text.starts_with("~ ")) {
    std::string_view high = text.substr(2);
    const auto from = hist_number(cut_at(&high, '-')), to = hist_number(high);
    return from && to ? range(*from, *to) : quoted(text);
  }
  return number_json(text, modifier == "hex" ? 16 : 10).value_or(quoted(text));
}

// The functions of a stack, a line each.
std::string stack_value(std::string_view text) {
  std::string list = "[";
  while (!text.empty()) {
    std::string_view line = cut_at(&text, '\n');
    line.remove_prefix(std::min(kHistStackMargin.size(), line.size()));
    list += (list.size() > 1 ? ", " : "") + json_quote(line);
  }
  return list + "]";
}

std::string keys_json(std::string_view text, const std::vector<HistColumn>& keys) {
  std::string json = "{";
  const std::vector<HistKeyPart> parts = hist_key_parts(text, keys);
  std::set<std::string> names;
  for (size_t i = 0; i < parts.size(); i++) {
    std::string name = keys[i].name;  // of a field that is there again, with its modifier
    if (!names.insert(name).second && !keys[i].modifier.empty()) name += "." + keys[i].modifier;
    json += (i ? ", " : "") + json_quote(name) + ": " +
            (parts[i].is_stack ? stack_value(parts[i].text) : key_value(keys[i], parts[i].text));
  }
  return json + "}";
}

// Numbers have blanks on their left, up to ten columns; texts that save() has kept have them on
// their right.
bool is_saved_text(std::string_view text) {
  return !text.starts_with(' ') && text.find_first_not_of("-0123456789abcdef") < kNumberWidth;
}

// "sum=9,4=1,5=1" -> {"sum": 9, "ranges": [{"from": 4, "to": 4, "hits": 1}, …]}.
std::string counters_json(std::string_view text) {
  const std::optional<HistCounters> counters = HistCounters::parse(text);
  if (!counters) return quoted(text);
  std::string list;
  for (const auto& [bucket, hits] : counters->ranges) {
    const QuantileRange one = quantile_range(uint32_t(std::abs(bucket)));
    std::string from = std::to_string(one.low), to = std::to_string(one.high);
    if (bucket < 0) from.swap(to), from.insert(0, "-"), to.insert(0, "-");
    list += (list.empty() ? "{\"from\": " : ", {\"from\": ") + from + ", \"to\": " + to +
            ", \"hits\": " + std::to_string(hits) + "}";
  }
  const std::string sum = counters->has_negative() ? std::to_string(int64_t(counters->sum))
                                                   : std::to_string(counters->sum);
  return "{\"sum\": " + sum + ", \"ranges\": [" + list + "]}";
}

// `modifier`: of the value's column.
std::string value_json(std::string_view modifier, std::string_view name, std::string_view text) {
  if (modifier == "counters") return counters_json(text);
  const std::string_view value = trim(text, " ");
  if (name.ends_with(" (%)") && value.size() > 3 && value[value.size() - 3] == '.' &&
      hist_number(value.substr(0, value.size() - 3)) && hist_number(value.substr(value.size() - 2)))
    return std::string(value);
  if (is_saved_text(text)) return quoted(text);
  return number_json(value, modifier == "hex" ? 16 : 10).value_or(json_quote(value));
}

// The columns of the value that `text` begins with.
size_t value_width(std::string_view text, std::string_view modifier) {
  if (modifier == "graph") return std::min(kBarWidth, text.size());
  if (modifier == "counters") return std::min(text.find(' '), text.size());
  const size_t least =
      modifier.empty() && is_saved_text(text) ? kSavedTextWidth : text.find_first_not_of(' ');
  return std::min(text.find("  ", std::min(least, text.size())), text.size());
}

// "hitcount:   2  size:   9" -> "hitcount": 2, "size": 9. A value that is there again has its
// modifier in its name, as in the definition: a key of an object is there once.
std::string values_json(std::string_view text, const std::vector<HistColumn>& fields) {
  std::string json = "{";
  size_t next = 0;
  std::set<std::string> keys;
  for (size_t colon; (colon = text.find(": ")) != text.npos;) {
    const std::string_view name = trim(text.substr(0, colon), " \t");
    text.remove_prefix(colon + 2);
    const HistColumn* const field = next_hist_column(fields, name, &next);
    const std::string modifier = field ? field->modifier : "";
    const size_t width = value_width(text, modifier);
    std::string key(name);
    if (!keys.insert(key).second && !modifier.empty()) key += "." + modifier;
    json += (json.size() > 1 ? ", " : "") + json_quote(key) + ": " +
            value_json(modifier, name, text.substr(0, width));
    text.remove_prefix(width);
  }
  return json + "}";
}

std::string total_of(std::string_view text, std::string_view name) {
  const size_t at = text.rfind(name);
  if (at == text.npos) return "0";
  std::string_view rest = text.substr(at + name.size());
  const auto value = hist_number(cut_at(&rest, '\n'));
  return value ? std::to_string(*value) : "0";
}

// The lines of onmax() and onchange() behind an entry: "\tmax:   7  n:   1".
std::string actions_json(std::string_view text, const char* end,
                         const std::vector<HistColumn>& fields) {
  std::string json;
  text.remove_prefix(std::min(size_t(end - text.data()), text.size()));
  if (text.starts_with('\n')) text.remove_prefix(1);
  while (text.starts_with("\tmax: ") || text.starts_with("\tchanged: "))
    json += (json.empty() ? "" : ", ") + values_json(cut_at(&text, '\n'), fields);
  return json;
}

}  // namespace

std::string hist_json(std::string_view text) {
  const std::string definition = hist_definition(text);
  const std::vector<HistColumn> keys = hist_columns(definition, "keys=");
  const std::vector<HistColumn> values = hist_columns(definition, "vals=");
  std::string json = "{\"definition\": " + json_quote(definition) + ", \"entries\": [";
  bool is_first = true;
  for (const HistEntry& entry : hist_entries(text)) {
    std::string_view counts = entry.values;
    counts.remove_prefix(std::min<size_t>(2, counts.size()));  // "} "
    json += std::string(is_first ? "" : ", ") + "{\"keys\": " + keys_json(entry.key, keys) +
            ", \"values\": " + values_json(counts, values);
    const std::string actions =
        actions_json(text, entry.values.data() + entry.values.size(), values);
    if (!actions.empty()) json += ", \"actions\": [" + actions + "]";
    json += "}";
    is_first = false;
  }
  return json + "], \"hits\": " + total_of(text, "\n    Hits: ") +
         ", \"nr_entries\": " + total_of(text, "\n    Entries: ") +
         ", \"dropped\": " + total_of(text, "\n    Dropped: ") + "}\n";
}

}  // namespace patchbay::cmd
