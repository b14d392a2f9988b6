// SPDX-License-Identifier: MIT
//
// An enumeration as a header of C or C++ has it, in one line:
//
//   enum whence { SEEK_SET = 0, SEEK_CUR = 1, SEEK_END = 2 };
//   enum __attribute__((flag_enum)) protection { PROT_READ = 0x1, PROT_WRITE = 0x2 };
//   typedef enum class Mode : unsigned char { kSlow, kFast = 1 << 3, kBoth = kSlow | kFast } Mode;
//
// The attribute, which is clang's, says that the values are flags. Without it they say it
// themselves (ValueNames::kind_of).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "event/value_names.h"

namespace patchbay::cmd {

struct CEnumeration {
  std::string tag;         // "" when it has none
  std::string other_name;  // of a typedef; "" when it is none
  std::string underlying;  // "unsigned char"; "" when it is not said
  bool is_class = false;   // C++: its names are TAG::NAME
  bool are_flags = false;  // the attribute says so
  std::vector<NamedValue> names;
};

// Whether a line is meant to be one: "enum … {" or "typedef enum … {".
bool is_c_enumeration(std::string_view line);
// A value is a number, a name before it, or these with - ~ << | and parentheses. EINVAL with a
// caret below the text when it is none.
Result<CEnumeration> parse_c_enumeration(std::string_view line);

}  // namespace patchbay::cmd
