// SPDX-License-Identifier: MIT
#pragma once

namespace standin {

// Writes the functions and data of this program to a file, a line each, in the order of their
// addresses, as /proc/kallsyms has them: "%016lx T name". False: errno says why.
bool write_kallsyms(const char* file);

}  // namespace standin
