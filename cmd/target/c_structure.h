// SPDX-License-Identifier: MIT
//
// A structure as a header of C has it, in one line, and as the type of a function's argument:
//
//   struct point { int x; double y; };      double norm(struct point p)
//   typedef struct { int quot, rem; } div_t;
//       norm(struct {int x, double y} p)
//
// A member is a number, a pointer, an array of a fixed length, or a structure that is known. One
// with another member (a bitfield, a union) is not known: C lays it out by rules of its own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cmd/target/c_declaration.h"
#include "event/object_form.h"

namespace patchbay::cmd {

struct CStructure {
  std::string tag;         // "" when it has none
  std::string other_name;  // of a typedef; "" when it is none
  std::vector<CDeclaration::Parameter> members;
};

// Whether a line is meant to be one: "struct … {" or "typedef struct … {".
bool is_c_structure(std::string_view line);
// EINVAL with a sentence when it is none of ours.
Result<CStructure> parse_c_structure(std::string_view line);

// An argument that is a structure by value: "struct {int x, double y} p", and what it is made of.
struct StructureArgument {
  std::string text;
  ObjectArgument object;
};
// Nothing: the type is no structure whose members are all known.
std::optional<StructureArgument> structure_argument(const CTypes& types, const std::string& type,
                                                    const std::string& name);

}  // namespace patchbay::cmd
