// SPDX-License-Identifier: MIT
//
// One constructor, or destructor, of C++ is several functions:
//
//   C1, D1   of a whole object                C2, D2   of the part that another class derives from
//   D0       D1, and then `operator delete`   C4, D4   both (g++ -fdeclone-ctor-dtor, as with -Os)
//
// Some of them do nothing but go to another one: D0 to D1, 1 and 2 to 4, and with clang -O0 1 to 2.
// What goes through both is one construction. The last of them sees all.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "symbol/plt.h"

namespace patchbay {

struct StructorCode {
  std::string_view symbol;  // mangled; any function's
  uint64_t address = 0;
  std::string_view code;
};

// Which of the functions of one name lead to another one of them. `stubs`: through which an object
// calls its own functions, too, if others may define them; asked for where it matters.
std::vector<size_t> ways_to_structors(const std::vector<StructorCode>& functions,
                                      const std::function<std::vector<PltEntry>()>& stubs);

// Whether the name is that of a C4 or D4, whose parameter `__in_chrg` says what it is to make.
bool is_unified_structor(std::string_view symbol);

}  // namespace patchbay
