// SPDX-License-Identifier: MIT
#include "base/agreed.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace patchbay {

namespace {

struct State {
  bool is_child = false;
  bool has_forked = false;
  bool takes_notes = false;
  bool all_found = true;
  std::vector<Note> notes;
};

// Never freed: threads may run to the very end of the process.
State& state() {
  static auto& made = *new State;
  return made;
}

}  // namespace

bool is_forked_child() { return state().is_child; }
void set_forked_child() { state().is_child = true; }
bool has_forked() { return state().has_forked; }
void set_has_forked() { state().has_forked = true; }

void leave_family() {
  state().is_child = state().has_forked = false;
  state().notes.clear();
  state().all_found = true;
}

// FNV-1a.
uint64_t note_key(std::string_view what, std::string_view name) {
  uint64_t key = 0xcbf29ce484222325;
  const auto add = [&key](unsigned char c) { key = (key ^ c) * 0x100000001b3; };
  for (char c : what) add(static_cast<unsigned char>(c));
  add(0);
  for (char c : name) add(static_cast<unsigned char>(c));
  return key;
}

void begin_notes() {
  PB_CHECK(!state().takes_notes);
  state().notes.clear();
  state().takes_notes = true;
}

std::vector<Note> end_notes() {
  PB_CHECK(state().takes_notes);
  state().takes_notes = false;
  return std::exchange(state().notes, {});
}

void note(uint64_t key, uint64_t value) {
  if (state().takes_notes) state().notes.push_back({key, value});
}

void begin_repeating(std::vector<Note> notes) {
  state().notes = std::move(notes);
  state().all_found = true;
}

bool end_repeating() {
  state().notes.clear();
  return std::exchange(state().all_found, true);
}

std::optional<uint64_t> noted(uint64_t key) {
  auto& notes = state().notes;
  const auto found =
      std::find_if(notes.begin(), notes.end(), [key](const Note& one) { return one.key == key; });
  if (found == notes.end()) {
    state().all_found = false;
    return std::nullopt;
  }
  const uint64_t value = found->value;
  notes.erase(found);
  return value;
}

bool has_note(uint64_t key) {
  const auto& notes = state().notes;
  return std::any_of(notes.begin(), notes.end(), [key](const Note& one) { return one.key == key; });
}

}  // namespace patchbay
