// SPDX-License-Identifier: MIT
//
// Where the function's name ends in a line of function_events. In the kernel a name is one
// identifier; in user space it is one of
//     name  library:name  ns::Class::method  ns::f(int, char const*)  ns::Box<int>::get
//     Class::operator()  (anonymous namespace)::f  _ZN2ns1fEv  /path/file@0x1234
//     main.(*item).grow, a method of Go
// A list of types in parentheses belongs to the name if a second list, the arguments', follows it.
#pragma once

#include <cstddef>
#include <string_view>

namespace patchbay {

// Length of the name at the start of `line`; 0 if none can start there.
size_t scan_function_name(std::string_view line);

}  // namespace patchbay
