// SPDX-License-Identifier: MIT
//
// Reads the text of a format file: ours, or a kernel's out of a foreign trace.dat. The text is not
// trusted: its length, the number of fields and every number have a bound, and a field that would
// end behind the largest possible record is refused. What a line has beyond the known keys (older
// and newer kernels differ) is skipped.
#include <cerrno>
#include <cstdint>
#include <optional>

#include "event/event_call.h"

namespace patchbay {

namespace {

constexpr size_t kMaxFormatText = 32u << 20;
constexpr size_t kMaxFields = 4096;
constexpr uint64_t kMaxRecord = 1u << 20;  // no sub-buffer is larger

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool consume(std::string_view* text, std::string_view prefix) {
  if (text->substr(0, prefix.size()) != prefix) return false;
  text->remove_prefix(prefix.size());
  return true;
}

// Takes the text up to `end` (or all of it) away, and `end` with it.
std::string_view take_until(std::string_view* text, char end) {
  size_t length = text->find(end);
  std::string_view taken = text->substr(0, length);
  text->remove_prefix(length == std::string_view::npos ? text->size() : length + 1);
  return taken;
}

std::optional<uint64_t> parse_decimal(std::string_view text, uint64_t max) {
  text = trim(text);
  if (text.empty()) return std::nullopt;
  uint64_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + uint64_t(c - '0');
    if (value > max) return std::nullopt;
  }
  return value;
}

Error bad_format(std::string_view system, std::string_view what) {
  return user_error(EINVAL, "format file of an event of system " +
                                std::string(system.substr(0, 64)) + ": " + std::string(what));
}

// "[16]" is array_len; any other text stays as it is, and the length follows from the size if the
// elements' type has a known one.
uint32_t element_size(std::string_view type) {
  struct Row {
    std::string_view word;
    uint32_t size;
  };
  static constexpr Row kRows[] = {
      {"char", 1},   {"u8", 1},  {"s8", 1},  {"x8", 1},  {"bool", 1},   {"short", 2},  {"u16", 2},
      {"s16", 2},    {"x16", 2}, {"u32", 4}, {"s32", 4}, {"x32", 4},    {"float", 4},  {"long", 8},
      {"size_t", 8}, {"u64", 8}, {"s64", 8}, {"x64", 8}, {"symbol", 8}, {"double", 8}, {"int", 4}};
  if (type.find('*') != std::string_view::npos) return 8;
  while (!type.empty()) {
    std::string_view word = take_until(&type, ' ');
    while (consume(&word, "_")) {
    }
    for (const Row& row : kRows)
      if (word == row.word) return row.size;
  }
  return 0;
}

void set_array(EventField* field, std::string_view brackets) {
  if (brackets.empty()) return;
  std::string_view inner = brackets.substr(1, brackets.size() - 2);
  auto length = parse_decimal(inner, kMaxRecord);
  if (length && *length && std::to_string(*length) == inner) {
    field->array_len = uint32_t(*length);
    return;
  }
  field->brackets = brackets;
  uint32_t size = element_size(field->type);
  if (size) field->array_len = field->size / size;
}

// "unsigned long ip", "char comm[16]", "__data_loc char[] name", "const char * p". The name is the
// last word.
bool parse_declaration(std::string_view text, EventField* field) {
  text = trim(text);
  size_t brackets_at = text.size();
  while (brackets_at && text[brackets_at - 1] == ']') {
    size_t open = text.rfind('[', brackets_at - 1);
    if (open == std::string_view::npos) return false;
    brackets_at = open;
  }
  std::string_view brackets = text.substr(brackets_at);
  text = trim(text.substr(0, brackets_at));
  size_t name_at = text.size();
  while (name_at && is_word(text[name_at - 1])) name_at--;
  field->name = text.substr(name_at);
  field->type = trim(text.substr(0, name_at));
  if (field->name.empty() || field->type.empty()) return false;
  set_array(field, brackets);
  return true;
}

// "field:T name;\toffset:8;\tsize:4;\tsigned:1;", in any order behind the first; signed is missing
// in old files.
bool parse_field(std::string_view line, EventField* field) {
  std::string_view declaration = take_until(&line, ';');
  bool has_offset = false, has_size = false;
  while (!line.empty()) {
    std::string_view item = trim(take_until(&line, ';'));
    std::string_view key = trim(take_until(&item, ':'));
    auto value = parse_decimal(item, kMaxRecord);
    if (key != "offset" && key != "size" && key != "signed") continue;
    if (!value) return false;
    if (key == "signed") field->is_signed = *value != 0;
    if (key == "offset") field->offset = uint32_t(*value), has_offset = true;
    if (key == "size") field->size = uint32_t(*value), has_size = true;
  }
  if (!has_offset || !has_size || field->offset + field->size > kMaxRecord) return false;
  return parse_declaration(declaration, field);
}

struct FormatReader {
  EventCall call;
  bool has_id = false;
  bool common_ended = false;

  // False: this line makes the file unusable.
  bool read_line(std::string_view line);
  bool read_field(std::string_view line);
};

bool FormatReader::read_field(std::string_view line) {
  if (call.common.size() + call.fields.size() == kMaxFields) return false;
  EventField field;
  if (!parse_field(line, &field)) return false;
  bool is_common = !common_ended && field.name.substr(0, 7) == "common_";
  (is_common ? call.common : call.fields).push_back(std::move(field));
  return true;
}

bool FormatReader::read_line(std::string_view line) {
  line = trim(line);
  if (consume(&line, "field:")) return read_field(line);
  if (line.empty()) {
    common_ended = common_ended || !call.common.empty();
  } else if (consume(&line, "name:")) {
    call.name = trim(line);
  } else if (consume(&line, "print fmt:")) {
    call.print_fmt = trim(line);
  } else if (consume(&line, "ID:")) {
    auto id = parse_decimal(line, UINT16_MAX);
    if (!id) return false;
    call.id = uint16_t(*id);
    has_id = true;
  }
  return true;
}

}  // namespace

Result<EventCall> parse_format(std::string_view system, std::string_view untrusted_text) {
  if (untrusted_text.size() > kMaxFormatText) return bad_format(system, "longer than 32 MiB");
  FormatReader reader;
  reader.call.system = system;
  while (!untrusted_text.empty()) {
    std::string_view line = take_until(&untrusted_text, '\n');
    if (!reader.read_line(line))
      return bad_format(system, "cannot use the line " + std::string(line.substr(0, 128)));
  }
  if (reader.call.name.empty()) return bad_format(system, "it has no name");
  if (!reader.has_id) return bad_format(system, "it has no ID");
  return std::move(reader.call);
}

}  // namespace patchbay
