// SPDX-License-Identifier: MIT
//
// A process and its forked children agree on the numbers of events and on addresses in shared
// memory. A child repeats each change that its parent makes to its tree (agent/followers.h). Where
// its result could differ, the parent notes what it has got, and the child takes that:
//
// clang-format off
//   parent   begin_notes() … note(key, value) … end_notes()     the journal gets them
//   child    begin_repeating(notes) … noted(key) … end_repeating()
// clang-format on
//
// Notes of one key are taken in their order. The agent's lock is held for everything here.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace patchbay {

struct Note {
  uint64_t key, value;
};

// This process is a forked child of the one that the agent serves. Only the parent changes shared
// memory, and only the parent makes and writes files.
bool is_forked_child();
void set_forked_child();
// This process has forked. Its children may not have repeated the last changes yet.
bool has_forked();
void set_has_forked();
// It is no longer the child of anybody, and has not forked: a process with an agent of its own.
void leave_family();

uint64_t note_key(std::string_view what, std::string_view name = {});

// For the parent. note() does nothing outside of begin_notes() and end_notes(). They do not nest.
void begin_notes();
std::vector<Note> end_notes();
void note(uint64_t key, uint64_t value);

// For a child. noted() is empty when the parent has noted nothing of this key: then the child does
// not make the same change. end_repeating() says whether every note was found.
void begin_repeating(std::vector<Note> notes);
bool end_repeating();
std::optional<uint64_t> noted(uint64_t key);
bool has_note(uint64_t key);  // noted() would find one

}  // namespace patchbay
