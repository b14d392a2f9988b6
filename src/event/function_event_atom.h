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

// Of 16 bytes: s128, u128, x128, float80 (long double).
inline bool is_wide(const FunctionEventField& field) { return field.atom_size == 16; }
inline bool is_long_double(const FunctionEventField& field) { return field.atom == "float80"; }
inline bool is_string(const FunctionEventField& field) { return field.atom == "string"; }
// A text by its address, which an argument is: what `...` behind it may be read by.
inline bool is_format(const FunctionEventField& field) {
  return field.source == FunctionEventField::Source::kArgument && is_string(field) &&
         field.suffixes.empty() && !field.most && !field.is_out;
}
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
  return !is_string(field) && !is_float(field) && !field.is_array() && !is_wide(field) &&
         field.source != FunctionEventField::Source::kMissing;
}

inline bool is_missing(const FunctionEventField& field) {
  return field.source == FunctionEventField::Source::kMissing;
}

// Known only when the function returns.
inline bool is_of_return(const FunctionEventField& field) {
  return field.is_out || field.source == FunctionEventField::Source::kResult;
}

// How the calling convention sees a value: the class of each of its words of 8 bytes.
struct ValueClass {
  uint32_t nr_words = 0;    // 0: it is passed nowhere
  bool in_memory = false;   // never in registers
  bool is_vector[2] = {};   // else: the class of each word
  bool is_aligned = false;  // on the stack to 16 bytes
  bool is_x87 = false;      // of a result: in st(0)
  uint32_t nr_vector() const {
    return uint32_t(nr_words > 0 && is_vector[0]) + uint32_t(nr_words > 1 && is_vector[1]);
  }
  uint32_t nr_integer() const { return nr_words - nr_vector(); }
};
ValueClass class_of(const FunctionEventArg& arg);
ValueClass class_of_result(const FunctionEventArg& result);

// The registers, and words of the stack, that arguments have taken.
struct ArgumentPlaces {
  uint32_t integer = 0, vector = 0, stack = 0;
  // A value has all its words in registers, or none. True: on the stack, from the word `stack` on,
  // which aligned values may have moved.
  bool on_stack(const ValueClass& value) const {
    return value.in_memory || integer + value.nr_integer() > kMaxIntegerArgs ||
           vector + value.nr_vector() > kMaxVectorArgs;
  }
  void align(const ValueClass& value) {
    if (on_stack(value) && value.is_aligned) stack = (stack + 1) & ~1u;
  }
  void take(const ValueClass& value) {
    if (!value.nr_words) return;
    align(value);
    const bool spills = on_stack(value);
    stack += spills ? value.nr_words : 0;
    integer += spills ? 0 : value.nr_integer();
    vector += spills ? 0 : value.nr_vector();
  }
};
// What is taken before the first argument: by the address of a result that is in memory.
ArgumentPlaces first_place(const FunctionEventDef& def);

// `text` as an identifier: each run of other characters becomes one '_', those at the ends vanish.
std::string make_identifier(std::string_view text);

}  // namespace patchbay
