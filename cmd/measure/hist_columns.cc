// SPDX-License-Identifier: MIT
#include "cmd/measure/hist_columns.h"

#include <algorithm>

#include "base/text.h"

namespace patchbay::cmd {
namespace {

// Takes the functions of a stack off, a line each.
std::string_view take_stack(std::string_view* text) {
  size_t size = 0;
  while (text->substr(size).starts_with(kHistStackMargin))
    size = std::min(text->find('\n', size), text->size() - 1) + 1;
  const std::string_view stack = text->substr(0, size);
  text->remove_prefix(size);
  return stack;
}

// Where the value of `field` ends that `text` begins with; the key `next` begins behind it. A text
// may hold whatever looks like this key, within its columns.
size_t value_end(std::string_view text, const HistColumn& field, const std::string& next) {
  const std::string mark = ", " + next + ":";
  const bool is_number = text.find_first_not_of(" -0123456789") == text.find(mark);
  const bool is_text = !is_number && field.modifier.empty() && text.size() > kHistKeyTextWidth;
  return std::min(text.find(mark, is_text ? kHistKeyTextWidth : 0), text.size());
}

}  // namespace

HistColumn hist_column(std::string_view text) {
  const size_t dot = text.rfind('.');
  if (dot == text.npos) return {std::string(text), ""};
  const std::string_view modifier = text.substr(dot + 1);
  return {std::string(text.substr(0, dot)),
          std::string(modifier.substr(0, modifier.find('=')))};  // buckets=5
}

std::vector<HistColumn> hist_columns(std::string_view definition, std::string_view part) {
  std::vector<HistColumn> columns;
  definition = definition.substr(0, definition.find(" if "));
  const size_t start = definition.find(part);
  if (start == definition.npos) return columns;
  std::string_view list = definition.substr(start + part.size());
  list = list.substr(0, list.find(':'));
  while (!list.empty()) columns.push_back(hist_column(cut_at(&list, ',')));
  return columns;
}

const HistColumn* next_hist_column(const std::vector<HistColumn>& columns, std::string_view shown,
                                   size_t* next) {
  const auto shows = [&](const HistColumn& column) {
    std::string_view name = column.name;
    if (name.starts_with('$')) name.remove_prefix(1);
    if (!shown.starts_with(name)) return false;
    const std::string_view end = shown.substr(name.size());
    if (column.modifier == "percent") return end == " (%)";
    if (column.modifier == "quantiles") return end == ".max";  // the last of them
    if (column.modifier == "counters") return end == ".counters";
    return end.empty();
  };
  for (size_t i = *next; i < columns.size(); i++) {
    if (!shows(columns[i])) continue;
    *next = i + 1;
    return &columns[i];
  }
  return nullptr;
}

std::string hist_definition(std::string_view text) {
  constexpr std::string_view kInfo = "# trigger info: ";
  const size_t at = text.find(kInfo);
  if (at == text.npos) return "";
  std::string_view line = text.substr(at + kInfo.size());
  line = line.substr(0, line.find('\n'));
  return std::string(line.substr(0, line.rfind(" [")));
}

std::optional<uint64_t> hist_number(std::string_view text, int base) {
  return parse_hist_number(trim_front(text, " "), base);
}

std::vector<HistWord> hist_words(std::string_view text, const std::vector<HistColumn>& columns) {
  std::vector<HistWord> words;
  size_t next = 0;
  if (text.starts_with('}')) text.remove_prefix(1);
  for (size_t colon; (colon = text.find(": ")) != text.npos;) {
    HistWord one;
    one.name = trim(text.substr(0, colon), " ");
    one.column = next_hist_column(columns, one.name, &next);
    text = trim_front(text.substr(colon + 2), " ");
    one.word = text.substr(0, text.find(' '));
    text.remove_prefix(one.word.size());
    words.push_back(one);
  }
  return words;
}

std::vector<HistValue> hist_values(std::string_view text, const std::vector<HistColumn>& columns) {
  std::vector<HistValue> values;
  for (const auto& [name, word, column] : hist_words(text, columns)) {
    HistValue value;
    value.name = name;
    if (value.name.ends_with(kHistCountersEnd)) {
      value.counters = HistCounters::parse(word).value_or(HistCounters());
      value.number = value.counters->sum;
      value.name.remove_suffix(kHistCountersEnd.size());
    } else {
      const bool is_hex = column && column->modifier == "hex";
      value.number = hist_number(word, is_hex ? 16 : 10).value_or(0);
    }
    values.push_back(std::move(value));
  }
  return values;
}

std::string_view without_hist_padding(std::string_view text) {
  const size_t last = text.find_last_not_of(' ');
  return text.substr(0, last == text.npos ? 0 : last + 1);
}

std::vector<HistKeyPart> hist_key_parts(std::string_view text,
                                        const std::vector<HistColumn>& keys) {
  std::vector<HistKeyPart> parts;
  if (text.ends_with(' ')) text.remove_suffix(1);  // before the brace
  for (size_t i = 0; i < keys.size() && text.starts_with(keys[i].name); i++) {
    text.remove_prefix(keys[i].name.size());
    HistKeyPart part;
    part.is_stack = text.starts_with(":\n") || text.starts_with(".stacktrace");
    if (part.is_stack) {
      text.remove_prefix(text.starts_with(':') ? 2 : std::string_view(".stacktrace").size());
      part.text = take_stack(&text);
    } else {
      text.remove_prefix(std::min<size_t>(2, text.size()));  // ": "
      const bool is_last = i + 1 == keys.size();
      part.text =
          text.substr(0, is_last ? text.size() : value_end(text, keys[i], keys[i + 1].name));
      text.remove_prefix(part.text.size());
    }
    parts.push_back(part);
    if (text.starts_with(", ")) text.remove_prefix(2);
  }
  return parts;
}

}  // namespace patchbay::cmd
