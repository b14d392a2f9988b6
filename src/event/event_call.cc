// SPDX-License-Identifier: MIT
//
// The text of a format file (docs/files.md, "format"), byte for byte as the kernel's
// kernel/trace/trace_events.c, f_show, writes it. Its reader is format_parse.cc.
#include "event/event_call.h"

#include <algorithm>

#include "base/text.h"

namespace patchbay {

namespace {

std::string brackets_of(const EventField& field) {
  if (!field.brackets.empty()) return field.brackets;
  if (field.array_len) return "[" + std::to_string(field.array_len) + "]";
  return "";
}

void append_field(std::string* text, const EventField& field) {
  *text += "\tfield:" + field.type + " " + field.name + brackets_of(field);
  *text += ";\toffset:" + std::to_string(field.offset);
  *text += ";\tsize:" + std::to_string(field.size);
  *text += field.is_signed ? ";\tsigned:1;\n" : ";\tsigned:0;\n";
}

}  // namespace

std::string EventCall::format_text() const {
  std::string text = "name: " + name + "\nID: " + std::to_string(id) + "\nformat:\n";
  for (const EventField& field : common) append_field(&text, field);
  text += "\n";
  for (const EventField& field : fields) append_field(&text, field);
  return text + "\nprint fmt: " + print_fmt + "\n";
}

bool is_function_event(const EventCall& event) {
  return event.system == "functions" && event.fields.size() >= 2 &&
         event.fields[0].name == "__parent_ip" && event.fields[1].name == "__ip";
}

std::string_view text_in(std::string_view bytes, bool is_counted) {
  if (!is_counted) return bytes.substr(0, bytes.find('\0'));
  if (bytes.ends_with('\0')) bytes.remove_suffix(1);
  return bytes;
}

bool same_layout(EventCall a, const EventCall& b) {
  a.id = b.id;
  return a.format_text() == b.format_text();
}

const EventField* EventCall::find(std::string_view field_name) const {
  for (const EventField& field : fields)
    if (field.name == field_name) return &field;
  for (const EventField& field : common)
    if (field.name == field_name) return &field;
  if (std::any_of(field_name.begin(), field_name.end(), is_beyond_ascii))
    return find(ascii_name(field_name));
  return nullptr;
}

std::vector<EventField> common_fields() {
  return {
      {"unsigned short", "common_type", 0, 2, false, 0, {}},
      {"unsigned char", "common_flags", 2, 1, false, 0, {}},
      {"unsigned char", "common_preempt_count", 3, 1, false, 0, {}},
      {"int", "common_pid", 4, 4, true, 0, {}},
  };
}

}  // namespace patchbay
