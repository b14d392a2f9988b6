// SPDX-License-Identifier: MIT
//
// Objects of the C++ library as fields of a function event: which words of an object say where its
// text or its elements are and how many, found by the names of its members in the debug information
// (libstdc++, and Rust's String, Vec, &str and slices). What is not known here is an address, as
// ever.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "debug_info/calling_convention.h"
#include "debug_info/struct_fields.h"
#include "event/object_form.h"

namespace patchbay {

inline constexpr uint32_t kShownElements = 8;  // of a list of numbers
inline constexpr uint32_t kShownTexts = 3;     // of a list of texts

struct ObjectFields {
  // What stands in the list of function_events, a position for each register: "u64 n+8[0] | …".
  std::vector<std::string> positions;
  ObjectArgument argument;
};
// Nothing: it is no such object, or not passed in a way that fields can follow.
std::optional<ObjectFields> object_fields(const PassedParameter& parameter, const std::string& name,
                                          const FieldName& field_name);

// A result that is such an object, at an address that the caller gives.
std::optional<WholeResult> object_result(std::optional<Dwarf_Die> type,
                                         const FieldName& field_name);

}  // namespace patchbay
