// SPDX-License-Identifier: MIT
//
// The types of function events (docs/files.md), one row each, and how libtraceevent is told
// to print them. Where the conversion differs from the printf one that the kernel's table would
// give, libtraceevent 1.7 is the reason (format_traceevent_test.cc tries each):
//   %d of a 1 or 2 byte field prints it unsigned, %hhd and %hd print it right;
//   %c is not known to it and keeps its argument for the next conversion, %s of one byte prints it;
//   %f is not known to it either: float and double are given as their bits.
#pragma once

#include <cstdint>
#include <string_view>

#include "event/function_event.h"

namespace patchbay {

struct FunctionEventAtom {
  std::string_view name;
  uint32_t size;  // in the record, and the unit of an index
  bool is_signed;
  std::string_view conversion;
  std::string_view unsigned_conversion;  // after the word `unsigned`; empty: that word is refused
};

// Null: there is no such type.
const FunctionEventAtom* find_atom(std::string_view name);
std::vector<std::string_view> atom_names();

inline bool is_string(const FunctionEventField& field) { return field.atom == "string"; }
inline bool is_float(const FunctionEventField& field) {
  return field.atom == "float" || field.atom == "double";
}
// An array of char or unsigned char is shown as a string.
inline bool is_char_array(const FunctionEventField& field) {
  return field.atom == "char" && field.array_len;
}

// How much is taken of a text or an array whose length a field says, where nothing else is asked.
inline uint32_t most_by_default(const FunctionEventField& field) {
  return is_string(field) ? kMaxStringBytes - 1 : kMaxElements;
}
// Whether a field's value can be a length, or an address: a number of the record.
inline bool can_be_length(const FunctionEventField& field) {
  return !is_string(field) && !is_float(field) && !field.is_array();
}

// `text` as an identifier: each run of other characters becomes one '_', those at the ends vanish.
std::string make_identifier(std::string_view text);

}  // namespace patchbay
