// SPDX-License-Identifier: MIT
//
// Which file has the function that a name of C means, by the symbols of the files alone. To list
// its functions, a process takes each of them apart.
#pragma once

#include <string>
#include <vector>

namespace patchbay::cmd {

// Whether a file, or its separate debug file, has something of this name. Also true of a file that
// cannot be read.
bool may_define(const std::string& path, const std::string& name);
// The only one of these files that has something called `name`, which has to be a word of C, when
// that is a plain function. "": there is none, or several are meant, or one that the dynamic linker
// chooses, or functions of C++ have that name, too.
std::string sole_file_with_function(const std::vector<std::string>& objects,
                                    const std::string& name);

}  // namespace patchbay::cmd
