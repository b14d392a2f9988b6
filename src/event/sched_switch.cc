// SPDX-License-Identifier: MIT
#include "event/sched_switch.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace patchbay {
namespace {

constexpr size_t kMostLetters = 32;

// What kernels since 4.14 have, for a format without them.
constexpr struct {
  uint64_t bits;
  const char* text;
} kUsualLetters[] = {{0x01, "S"}, {0x02, "D"}, {0x04, "T"}, {0x08, "t"},
                     {0x10, "X"}, {0x20, "Z"}, {0x40, "P"}, {0x80, "I"}};

// A number of the kernel's sources: 0x10, 16.
bool take_number(std::string_view* text, uint64_t* out) {
  const bool is_hex = text->starts_with("0x") || text->starts_with("0X");
  if (is_hex) text->remove_prefix(2);
  const auto [end, error] =
      std::from_chars(text->data(), text->data() + text->size(), *out, is_hex ? 16 : 10);
  if (error != std::errc()) return false;
  text->remove_prefix(size_t(end - text->data()));
  return true;
}

void skip(std::string_view* text, std::string_view letters) {
  text->remove_prefix(std::min(text->find_first_not_of(letters), text->size()));
}

}  // namespace

// The pairs { 0x00000001, "S" } of __print_flags(). The bit above the last one says "+".
void SchedSwitchReader::take_letters(std::string_view untrusted_print_fmt) {
  std::string_view text = untrusted_print_fmt;
  for (size_t at; (at = text.find('{')) != text.npos && letters_.size() < kMostLetters;) {
    text.remove_prefix(at + 1);
    skip(&text, " ");
    Letter letter;
    if (!take_number(&text, &letter.bits)) continue;
    skip(&text, " ,");
    if (!text.starts_with('"')) continue;
    text.remove_prefix(1);
    letter.text = text.substr(0, std::min<size_t>(text.find('"'), 8));
    letters_.push_back(std::move(letter));
  }
  if (letters_.empty())
    for (const auto& usual : kUsualLetters) letters_.push_back({usual.bits, usual.text});
  uint64_t highest = 0;
  for (const Letter& letter : letters_) {
    highest = std::max(highest, letter.bits);
    if (letter.text == "X" || letter.text == "Z") ended_ |= letter.bits;
  }
  preempted_ = highest << 1;
}

std::optional<SchedSwitchReader> SchedSwitchReader::of(const EventCall& event) {
  if (event.system != "sched" || event.name != "sched_switch") return {};
  SchedSwitchReader reader;
  reader.id_ = event.id;
  const auto take = [&event](const char* name, size_t least, Field* out) {
    const EventField* field = event.find(name);
    if (!field || field->size < least || field->size > 8) return false;
    *out = {field->offset, field->size};
    return true;
  };
  if (!take("prev_pid", 4, &reader.prev_pid_) || !take("prev_state", 1, &reader.prev_state_) ||
      !take("next_pid", 4, &reader.next_pid_))
    return {};
  reader.take_letters(event.print_fmt);
  return reader;
}

std::optional<SchedSwitchReader> SchedSwitchReader::among(const std::vector<EventCall>& events) {
  for (const EventCall& event : events)
    if (std::optional<SchedSwitchReader> reader = of(event)) return reader;
  return {};
}

bool SchedSwitchReader::read(std::span<const uint8_t> untrusted_record, SchedSwitch* out) const {
  const auto number = [&](const Field& field, uint64_t* value) {
    *value = 0;
    if (field.offset > untrusted_record.size() ||
        untrusted_record.size() - field.offset < field.size)
      return false;
    std::memcpy(value, untrusted_record.data() + field.offset, field.size);
    return true;
  };
  uint64_t id = 0, prev = 0, next = 0;
  if (!number({0, 2}, &id) || id != id_ || !number(prev_pid_, &prev) || !number(next_pid_, &next) ||
      !number(prev_state_, &out->prev_state))
    return false;
  out->prev_tid = int32_t(prev);
  out->next_tid = int32_t(next);
  out->prev_ended = (out->prev_state & ended_) != 0;
  return true;
}

std::string SchedSwitchReader::state_text(uint64_t prev_state) const {
  uint64_t left = preempted_ ? prev_state & (preempted_ - 1) : prev_state;
  std::string text = left ? "" : "R";
  const auto add = [&text](const std::string& more) { text += (text.empty() ? "" : "|") + more; };
  for (const Letter& letter : letters_) {
    if (letter.bits == 0 || (left & letter.bits) != letter.bits) continue;
    add(letter.text);
    left &= ~letter.bits;
  }
  if (left) {
    char hex[24];
    std::snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(left));
    add(hex);
  }
  return text + (prev_state & preempted_ ? "+" : "");
}

}  // namespace patchbay
