// SPDX-License-Identifier: MIT
#include "cmd/report/report_color.h"

#include <cstring>

#include "output/trace_line.h"
#include "output/tracer_text.h"

namespace patchbay::cmd {
namespace {

// The colour of a mark of trace_find_mark(): + and ! are more than 10 us and 100 us, the others
// more than 1, 10, 100 and 1000 ms. Empty: the duration is short.
std::string_view color_of_mark(char mark) {
  if (mark == '+' || mark == '!') return kYellow;
  return mark != ' ' && std::strchr("#*@$", mark) ? kRed : "";
}

// "+ 12.345 us |  f();": the mark and the time.
void append_duration(std::string* out, std::string_view text) {
  const size_t end = text.find(" us ");
  const std::string_view color = text.empty() ? "" : color_of_mark(text[0]);
  if (color.empty() || end == text.npos) return void(*out += text);
  *out += in_color(color, text.substr(0, end + 3));
  *out += text.substr(end + 3);
}

bool is_graph(const EventCall& event) { return TracerText(event).is_graph(); }

bool is_print(const EventCall& event) {
  return event.system == "ftrace" &&
         (event.name == "print" || event.name == "bprint" || event.name == "bputs");
}

}  // namespace

std::string in_color(std::string_view color, std::string_view text) {
  const std::string_view end = text.ends_with('\n') ? "\n" : "";
  text.remove_suffix(end.size());
  std::string colored;
  for (std::string_view part : {color, text, kPlain, end}) colored += part;
  return colored;
}

ReportColors::ReportColors(const std::vector<EventCall>& events) {
  for (const EventCall& event : events) {
    Event& made = events_.emplace_back();
    append_escaped(&made.name, event.name);
    made.has_place_first = is_print(event);
    made.has_duration = is_graph(event);
    by_id_[event.id] = uint32_t(events_.size());
  }
}

void ReportColors::append_line(std::string* out, std::string_view line, size_t task, size_t text,
                               std::span<const uint8_t> record) const {
  *out += in_color(kDim, line.substr(0, task));
  *out += line.substr(task, text - task);
  append_text(out, line.substr(text), record);
}

void ReportColors::append_text(std::string* out, std::string_view text,
                               std::span<const uint8_t> record) const {
  uint16_t id = 0;
  if (record.size() >= sizeof id) std::memcpy(&id, record.data(), sizeof id);
  const Event* event = by_id_[id] ? &events_[by_id_[id] - 1] : nullptr;
  if (!event) return void(*out += text);
  size_t name = text.npos, size = event->name.size();
  if (text.starts_with(event->name + ":")) {
    name = 0;
  } else if (const size_t at = text.find("->" + event->name + "("); at != text.npos) {
    name = at + 2;  // of a function event: caller->name(…)
  } else if (const size_t colon = text.find(": "); event->has_place_first && colon != text.npos) {
    name = 0;
    size = colon;
  }
  if (name == text.npos || size == 0) return void(*out += text);
  *out += text.substr(0, name);
  *out += in_color(kCyan, text.substr(name, size));
  text.remove_prefix(name + size);
  if (!event->has_duration || !text.starts_with(": ")) return void(*out += text);
  *out += ": ";
  append_duration(out, text.substr(2));
}

}  // namespace patchbay::cmd
