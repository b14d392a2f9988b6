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
  };
  enum class Show : uint8_t { kSigned, kUnsigned, kHex, kBool, kChar, kFloat, kPointer };

  Kind kind = Kind::kScalar;
  Show show = Show::kUnsigned;  // of a number, or of each element
  uint32_t size = 0;            // of it, in bytes; of kParts and of a text that has an end: of one
  std::string field;
  std::string length;      // the field with the number of bytes or elements
  std::string begin, end;  // fields with addresses
  uint64_t count = 0;      // of elements, where it is always the same
  std::string flag;        // the field that is not 0 when there is a value, from bit flag_bit on
  uint32_t flag_bit = 0;
  // Its element is there if the object can be read: a number that cannot be is 0. "": it is known.
  std::string there;
  std::string unit;
  SharedValueNames names = nullptr;  // of an enumeration's values
  std::vector<ObjectForm> parts;
};

struct ObjectArgument {
  std::string name;                 // of the parameter
  std::vector<std::string> fields;  // all that belong to it
  ObjectForm form;
};
using ObjectArguments = std::vector<ObjectArgument>;

}  // namespace patchbay
