// SPDX-License-Identifier: MIT
#include "cmd/measure/hist_json.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/measure/hist_entries.h"
#include "hist/quantile_buckets.h"
#include "hist/text/hist_values.h"

namespace patchbay::cmd {
namespace {

// hist/text/hist_text.cc
constexpr size_t kKeyTextWidth = 50, kSavedTextWidth = 32, kNumberWidth = 10, kBarWidth = 20;
constexpr std::string_view kStackMargin = "         ";  // before each function of a stack

// A key or a value of a definition: "size.log2" is size with the modifier log2.
struct Field {
  std::string name, modifier;
};

Field field_of(std::string_view text) {
  const size_t dot = text.rfind('.');
  if (dot == text.npos) return {std::string(text), ""};
  const std::string_view modifier = text.substr(dot + 1);
  return {std::string(text.substr(0, dot)),
          std::string(modifier.substr(0, modifier.find('=')))};  // buckets=5
}

// The fields behind "keys=" or "vals=".
std::vector<Field> fields_of(std::string_view definition, std::string_view part) {
  std::vector<Field> fields;
  definition = definition.substr(0, definition.find(" if "));
  const size_t start = definition.find(part);
  if (start == definition.npos) return fields;
  std::string_view list = definition.substr(start + part.size());
  list = list.substr(0, list.find(':'));
  while (!list.empty()) fields.push_back(field_of(cut_at(&list, ',')));
  return fields;
}

// Blanks, digits, nothing else.
std::optional<uint64_t> number_in(std::string_view text, int base = 10) {
  const size_t start = std::min(text.find_first_not_of(' '), text.size());
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data() + start, text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view without_padding(std::string_view text) {
  const size_t last = text.find_last_not_of(' ');
  return text.substr(0, last == text.npos ? 0 : last + 1);
}

std::string quoted(std::string_view text) { return json_quote(without_padding(text)); }

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
  const auto value = number_in(text.substr(open + 1, close - open - 1), base);
  if (!value) return quoted(text);
  std::string_view other = base == 16 ? text.substr(close + 1) : text.substr(0, open);
  if (other.starts_with(' ')) other.remove_prefix(1);
  return std::string("{\"") + name + "\": " + quoted(other) + ", \"" + number +
         "\": " + std::to_string(*value) + "}";
}

std::string key_value(const Field& field, std::string_view text) {
  const std::string_view modifier = field.modifier;
  if (modifier == "sym" || modifier == "sym-offset") return named(text, "symbol", "address", 16);
  if (text.size() >= kKeyTextWidth) return quoted(text);
  if (modifier == "execname") return named(text, "comm", "pid", 10);
  if (modifier == "syscall") return named(text, "syscall", "number", 10);
  if (text.starts_with("~ 2^")) {
    const auto power = number_in(without_padding(text.substr(4)));
    return power ? log2_range(*power) : quoted(text);
  }
  if (text.starts_with("~ ")) {
    std::string_view high = text.substr(2);
    const auto from = number_in(cut_at(&high, '-')), to = number_in(high);
    return from && to ? range(*from, *to) : quoted(text);
  }
  const auto value = number_in(text, modifier == "hex" ? 16 : 10);
  return value ? std::to_string(*value) : quoted(text);
}

// Takes the functions of a stack off, a line each.
std::string stack_value(std::string_view* text) {
  std::string list = "[";
  while (text->starts_with(kStackMargin)) {
    std::string_view line = cut_at(text, '\n');
    line.remove_prefix(kStackMargin.size());
    list += (list.size() > 1 ? ", " : "") + json_quote(line);
  }
  return list + "]";
}

// Where the value of `field` ends that `text` begins with; the key `next` begins behind it. A text
// may hold whatever looks like this key, within its columns.
size_t value_end(std::string_view text, const Field& field, const std::string& next) {
  const std::string mark = ", " + next + ":";
  const bool is_number = text.find_first_not_of(" 0123456789") == text.find(mark);
  const bool is_text = !is_number && field.modifier.empty() && text.size() > kKeyTextWidth;
  return std::min(text.find(mark, is_text ? kKeyTextWidth : 0), text.size());
}

std::string keys_json(std::string_view text, const std::vector<Field>& fields) {
  std::string json = "{";
  if (text.ends_with(' ')) text.remove_suffix(1);  // before the brace
  for (size_t i = 0; i < fields.size(); i++) {
    const Field& field = fields[i];
    if (!text.starts_with(field.name)) break;
    text.remove_prefix(field.name.size());
    json += (i ? ", " : "") + json_quote(field.name) + ": ";
    const bool is_stack = text.starts_with(":\n") || text.starts_with(".stacktrace");
    if (is_stack) {
      text.remove_prefix(text.starts_with(':') ? 2 : std::string_view(".stacktrace").size());
      json += stack_value(&text);
    } else {
      text.remove_prefix(std::min<size_t>(2, text.size()));  // ": "
      const bool is_last = i + 1 == fields.size();
      const size_t end = is_last ? text.size() : value_end(text, field, fields[i + 1].name);
      json += key_value(field, text.substr(0, end));
      text.remove_prefix(end);
    }
    if (text.starts_with(", ")) text.remove_prefix(2);
  }
  return json + "}";
}

// Numbers have blanks on their left, up to ten columns; texts that save() has kept have them on
// their right.
bool is_saved_text(std::string_view text) {
  return !text.starts_with(' ') && text.find_first_not_of("0123456789abcdef") < kNumberWidth;
}

bool has_counters(const std::vector<Field>& fields, std::string_view name) {
  return std::any_of(fields.begin(), fields.end(), [&](const Field& field) {
    return field.modifier == "counters" && name == field.name + ".counters";
  });
}

// "sum=9,4=1,5=1" -> {"sum": 9, "ranges": [{"from": 4, "to": 4, "hits": 1}, …]}.
std::string counters_json(std::string_view text) {
  uint64_t sum = 0;
  std::vector<uint64_t> counters(kQuantileBuckets);
  if (!add_hist_counters(text, &sum, counters.data())) return quoted(text);
  std::string list;
  for (uint32_t bucket = 0; bucket < kQuantileBuckets; bucket++) {
    if (counters[bucket] == 0) continue;
    const QuantileRange one = quantile_range(bucket);
    list += (list.empty() ? "{\"from\": " : ", {\"from\": ") + std::to_string(one.low) +
            ", \"to\": " + std::to_string(one.high) +
            ", \"hits\": " + std::to_string(counters[bucket]) + "}";
  }
  return "{\"sum\": " + std::to_string(sum) + ", \"ranges\": [" + list + "]}";
}

std::string value_json(const std::vector<Field>& fields, std::string_view name,
                       std::string_view text) {
  if (has_counters(fields, name)) return counters_json(text);
  bool is_hex = false;
  for (const Field& field : fields) is_hex |= field.name == name && field.modifier == "hex";
  const std::string_view value = trim(text, " ");
  if (name.ends_with(" (%)") && value.size() > 3 && value[value.size() - 3] == '.' &&
      number_in(value.substr(0, value.size() - 3)) && number_in(value.substr(value.size() - 2)))
    return std::string(value);
  if (is_saved_text(text)) return quoted(text);
  const auto number = number_in(value, is_hex ? 16 : 10);
  return number ? std::to_string(*number) : json_quote(value);
}

// The columns of the value that `text` begins with.
size_t value_width(std::string_view text, const std::vector<Field>& fields, std::string_view name) {
  for (const Field& field : fields)
    if (field.name == name && field.modifier == "graph") return std::min(kBarWidth, text.size());
  if (has_counters(fields, name)) return std::min(text.find(' '), text.size());
  const size_t least = is_saved_text(text) ? kSavedTextWidth : text.find_first_not_of(' ');
  return std::min(text.find("  ", std::min(least, text.size())), text.size());
}

// "hitcount:   2  size:   9" -> "hitcount": 2, "size": 9.
std::string values_json(std::string_view text, const std::vector<Field>& fields) {
  std::string json = "{";
  for (size_t colon; (colon = text.find(": ")) != text.npos;) {
    const std::string_view name = trim(text.substr(0, colon), " \t");
    text.remove_prefix(colon + 2);
    const size_t width = value_width(text, fields, name);
    json += (json.size() > 1 ? ", " : "") + json_quote(name) + ": " +
            value_json(fields, name, text.substr(0, width));
    text.remove_prefix(width);
  }
  return json + "}";
}

std::string total_of(std::string_view text, std::string_view name) {
  const size_t at = text.rfind(name);
  if (at == text.npos) return "0";
  std::string_view rest = text.substr(at + name.size());
  const auto value = number_in(cut_at(&rest, '\n'));
  return value ? std::to_string(*value) : "0";
}

// The lines of onmax() and onchange() behind an entry: "\tmax:   7  n:   1".
std::string actions_json(std::string_view text, const char* end, const std::vector<Field>& fields) {
  std::string json;
  text.remove_prefix(std::min(size_t(end - text.data()), text.size()));
  if (text.starts_with('\n')) text.remove_prefix(1);
  while (text.starts_with("\tmax: ") || text.starts_with("\tchanged: "))
    json += (json.empty() ? "" : ", ") + values_json(cut_at(&text, '\n'), fields);
  return json;
}

}  // namespace

std::string hist_json(std::string_view text) {
  constexpr std::string_view kInfo = "# trigger info: ";
  std::string_view definition;
  if (const size_t at = text.find(kInfo); at != text.npos) {
    definition = text.substr(at + kInfo.size());
    definition = definition.substr(0, definition.find('\n'));
    definition = definition.substr(0, definition.rfind(" ["));
  }
  const std::vector<Field> keys = fields_of(definition, "keys=");
  const std::vector<Field> values = fields_of(definition, "vals=");
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
