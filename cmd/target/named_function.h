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

// "libfoo", "libfoo.so" mean "libfoo.so.1"; "": any.
bool is_file_of_library(const std::string& wanted, const std::string& file);
// The files that have a function of one name, each once, the one that the name alone means first:
// the program's own function comes before a library's, and that before libc's.
std::vector<std::string> files_by_rank(const std::vector<std::string>& files,
                                       const std::string& program);
// "libc" of "libc.so.6", as it stands before a ':'; "" where a definition cannot name the file.
std::string library_word(const std::string& file);
// A remark: which of several files a name means, and what to write for the others.
void say_which_is_meant(const std::string& name, const std::vector<std::string>& files);

}  // namespace patchbay::cmd
