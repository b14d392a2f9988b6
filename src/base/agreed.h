// SPDX-License-Identifier: MIT
//
// What a process and its forked children have to agree on: the numbers of events, the addresses of
// what lies in shared memory. Children repeat what their parent has done to its tree
// (agent/followers.h); what cannot come out the same by itself is noted by the parent and taken
// from there by the child:
//
//   parent   begin_notes() … note(key, value) … end_notes()     goes into the journal with the
//   change child    begin_repeating(notes) … noted(key) … end_repeating()
//
// Notes of one key are taken in their order. Everything here is under the agent's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace patchbay {

struct Note {
  uint64_t key, value;
};

// This process is a forked child of the one that the agent serves: what is in shared memory is that
// one's to change, files are its to make and to write.
bool is_forked_child();
void set_forked_child();
// It has forked: there may be children that are late with what is changed.
bool has_forked();
void set_has_forked();

uint64_t note_key(std::string_view what, std::string_view name = {});

// Of the parent. Nothing is noted outside of begin_notes() and end_notes(), which do not nest.
void begin_notes();
std::vector<Note> end_notes();
void note(uint64_t key, uint64_t value);

// Of a child. Nothing: the parent has noted none of this key, so this is not the same change. It is
// remembered until end_repeating(), which says whether all was found.
void begin_repeating(std::vector<Note> notes);
bool end_repeating();
std::optional<uint64_t> noted(uint64_t key);
bool has_note(uint64_t key);  // noted() would find one

}  // namespace patchbay
