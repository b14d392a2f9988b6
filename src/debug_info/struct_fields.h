// SPDX-License-Identifier: MIT
//
// Values that are more than one word, by value, as types of function events:
//
//   struct point { int x; double y; } p      struct {s32 x, double y} p
//   __int128 n                               s128 n
//   long double z                            long double z
//
// A structure's text says how C would lay out its members; where the debug information lays them
// out otherwise (packed, bitfields, unions), it consists of words, and has a mark where a person
// would read its members.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "debug_info/calling_convention.h"
#include "event/object_form.h"

namespace patchbay {

// Gives a field a name that no other one has, from the one that it would like to have.
using FieldName = std::function<std::string(const std::string& wish)>;

// How a number is shown.
ObjectForm::Show show_of(const TypeFacts& facts);
// Whether it points to a text that ends with a NUL: const char*.
bool is_text_pointer(const TypeFacts& facts);
// The word of function_events for what is in a register: s32, char, double, x64 of a pointer,
// symbol of one to a function. "" when it is none.
std::string number_word(const TypeFacts& facts);
// For a value of 16 bytes: s128, u128, "long double". "" for others.
std::string wide_word(const TypeFacts& facts);

struct StructFields {
  std::string position;  // "struct {s32 x, double y} p"
  ObjectArgument argument;
};
// Nothing: it is no structure, or so large that no event can have it. `scope`: of the function, for
// the names of enumerations.
std::optional<StructFields> struct_fields(const TypeFacts& facts, const std::string& name,
                                          const std::string& scope, const FieldName& field_name);

// Of a structure of which only parts are passed (PassedParameter::parts): each register that has
// some of its members is a position.
struct PartialFields {
  struct Position {
    PassedParameter::Register reg;
    std::string text;  // "struct {s32 x, s32 y} p"
  };
  std::vector<Position> positions;
  std::vector<std::string> unknown;  // names of fields that nothing is known of
  ObjectArgument argument;
};
// `can_have`: whether a position for this register may stand behind those before it. Nothing: it is
// no structure with members that can be told apart, or none of them is there.
std::optional<PartialFields> partial_fields(
    const PassedParameter& parameter, const std::string& name, const std::string& scope,
    const FieldName& field_name, const std::function<bool(PassedParameter::Register)>& can_have);
// "s32 NAME=\\7": what is the same at each call. Empty: there is no such number.
std::string constant_text(const TypeFacts& facts, const std::string& bytes,
                          const std::string& name);

// A result of several words; nothing: it is in one register, or what nobody reads.
std::optional<WholeResult> whole_result(std::optional<Dwarf_Die> type, const std::string& scope);

// Where function_events sees a position, "double d": as many words, in registers of these kinds or
// in memory, as the parameter has. `nr_stack`: words on the stack that those before it have; it
// becomes that behind it.
bool is_passed_alike(const std::string& position, const PassedParameter& parameter,
                     uint32_t* nr_stack);

}  // namespace patchbay
