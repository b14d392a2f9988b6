// SPDX-License-Identifier: MIT
//
// How the objects that a function is given are shown, from fields of its event's record. The tool
// takes a class of C++ or Rust apart by its debug information, and defines a field for each part
// (debug_info/object_fields.h); a form says what these parts are.
//
//   const std::string& name      string/name_len name[0]+0 | u64 name_len+8[0]        "hello"
//   const std::vector<int>& v    s32[<v_end/8] v[0]+0 | x64 v_end+8[0] | x64 v_begin[0]    [1, 2]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "event/value_names.h"

namespace patchbay {

struct ObjectForm {
  enum class Kind : uint8_t {
    kScalar,    // field: a number; with `unit` behind it
    kText,      // field: the bytes; length or begin and end: how many there are
    kList,      // field: the first elements; length, or begin and end, or count: how many there are
    kParts,     // parts: the first elements; how many there are as above
    kOptional,  // flag: whether parts[0] is there
    kPointer,   // field: the address; parts[0], if it is there: what it points to
    kSize,      // field: how many entries there are, of which none is shown
    kTypeName,  // field: the text of a type's name as std::type_info has it, mangled
    kMembers,   // parts: each with its name, {x=1, y=2.5}
    kElements,  // parts: all elements of an array
    kEitherText,  // libc++: a text as kText, or in the bytes of `there`, whose first byte says it
    kVariant,     // flag: which of parts is there
    // What a std::function calls. field: a pointer to it, or its own words; flag: 0 when it is
    // empty; address: the function that makes the call, whose name has its type.
    kTarget,
    kCharacters,  // parts: the characters of an array, shown as the text that they are
    kWideText,    // field: the first characters, of 2 or 4 bytes; length: how many there are
    kCText,       // field: a text that ends with a NUL; address: the field with its address
    kMark,        // no value: `unit` stands in its place
  };
  enum class Show : uint8_t { kSigned, kUnsigned, kHex, kBool, kChar, kFloat, kPointer, kSymbol };

  Kind kind = Kind::kScalar;
  std::string name;             // of a member
  Show show = Show::kUnsigned;  // of a number, or of each element
  uint32_t size = 0;            // of it, in bytes; of kParts and of a text that has an end: of one
  std::string field;
  std::string length;      // the field with the number of bytes or elements
  std::string begin, end;  // fields with addresses
  std::string address;
  uint64_t count = 0;  // of elements, where it is always the same
  std::string flag;    // the field that is not 0 when there is a value, from bit flag_bit on
  uint32_t flag_bit = 0;
  // Its element is there if the object can be read: a number that cannot be is 0. "": it is known.
  std::string there;
  std::string unit;  // behind a number; of a pointer what 0 is called, if that is not nullptr
  SharedValueNames names = nullptr;  // of an enumeration's values
  std::vector<ObjectForm> parts;
};

struct ObjectArgument {
  std::string name;                 // of the parameter
  std::vector<std::string> fields;  // all that belong to it
  ObjectForm form;
  bool is_result = false;
  size_t index = 0;  // of a mark, which has no fields: how many arguments stand before it
};
// Of an argument that is not read.
inline ObjectArgument left_out_argument(const std::string& name, size_t index) {
  ObjectForm form;
  form.kind = ObjectForm::Kind::kMark;
  form.unit = "?";
  return {name, {}, std::move(form), false, index};
}
using ObjectArguments = std::vector<ObjectArgument>;

// What the result of a whole call is called where a tool defines the event.
inline constexpr std::string_view kResultField = "__ret";

// A result that only the event of a whole call can have: "struct {s64 a, s64 b} __ret".
struct WholeResult {
  std::string text;  // "": the result is none
  // Of an object at an address that the caller gives before all arguments: what is read there when
  // the call returns, "out string/__ret_len __ret[0]+0 | out u64 __ret_len+8[0]".
  std::string hidden = {};
  ObjectArgument object;  // how it is shown
};

}  // namespace patchbay
