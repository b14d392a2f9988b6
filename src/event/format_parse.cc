// SPDX-License-Identifier: MIT
//
// Reads the text of a format file: ours, or a kernel's out of a foreign trace.dat. The text is not
// trusted: its length, the number of fields and every number have a bound, and a field that would
// end behind the largest possible record is refused. What a line has beyond the known keys (older
// and newer kernels differ) is skipped.
#include <cerrno>
#include <cstdint>
#include <optional>

#include "base/text.h"
#include "event/event_call.h"
#include "event/function_event_atom.h"

namespace patchbay {

namespace {

constexpr size_t kMaxFormatText = 32u << 20;
constexpr size_t kMaxFields = 4096;
constexpr uint64_t kMaxRecord = 1u << 20;  // no sub-buffer is larger

constexpr std::string_view kBlanks = " \t\r";

bool consume(std::string_view* text, std::string_view prefix) {
  if (text->substr(0, prefix.size()) != prefix) return false;
  text->remove_prefix(prefix.size());
  return true;
}

std::optional<uint64_t> parse_decimal(std::string_view text, uint64_t max) {
  text = trim(text, kBlanks);
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
  if (type.find('*') != std::string_view::npos) return 8;
  while (!type.empty()) {
    std::string_view word = cut_at(&type, ' ');
    while (consume(&word, "_")) {
    }
    if (word == "bool") return 1;
    if (const FunctionEventAtom* atom = find_atom(word); atom && word != "string")
      return atom->size;
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
  text = trim(text, kBlanks);
  size_t brackets_at = text.size();
  while (brackets_at && text[brackets_at - 1] == ']') {
    size_t open = text.rfind('[', brackets_at - 1);
    if (open == std::string_view::npos) return false;
    brackets_at = open;
  }
  std::string_view brackets = text.substr(brackets_at);
  text = trim(text.substr(0, brackets_at), kBlanks);
  size_t name_at = text.size();
  while (name_at && is_name_char(text[name_at - 1])) name_at--;
  field->name = text.substr(name_at);
  field->type = trim(text.substr(0, name_at), kBlanks);
  if (field->name.empty() || field->type.empty()) return false;
  set_array(field, brackets);
  return true;
}

// "field:T name;\toffset:8;\tsize:4;\tsigned:1;", in any order behind the first; signed is missing
// in old files.
bool parse_field(std::string_view line, EventField* field) {
  std::string_view declaration = cut_at(&line, ';');
  bool has_offset = false, has_size = false;
  while (!line.empty()) {
    std::string_view item = trim(cut_at(&line, ';'), kBlanks);
    std::string_view key = trim(cut_at(&item, ':'), kBlanks);
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
  line = trim(line, kBlanks);
  if (consume(&line, "field:")) return read_field(line);
  if (line.empty()) {
    common_ended = common_ended || !call.common.empty();
  } else if (consume(&line, "name:")) {
    call.name = trim(line, kBlanks);
  } else if (consume(&line, "print fmt:")) {
    call.print_fmt = trim(line, kBlanks);
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
    std::string_view line = cut_at(&untrusted_text, '\n');
    if (!reader.read_line(line))
      return bad_format(system, "cannot use the line " + std::string(line.substr(0, 128)));
  }
  if (reader.call.name.empty()) return bad_format(system, "it has no name");
  if (!reader.has_id) return bad_format(system, "it has no ID");
  return std::move(reader.call);
}

}  // namespace patchbay
