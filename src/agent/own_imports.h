// SPDX-License-Identifier: MIT
#pragma once

namespace patchbay {

// Whether the agent's references to libc's functions have been looked at (own_imports.cc). Before
// that, one may lead to a malloc() whose block the free() behind it does not know.
bool imports_are_bound();

// Whether libc has all that the agent needs of it. Not so where one before 2.34 is without its
// libpthread and libdl.
bool libc_is_complete();

// Of libc's own tables, without libdl; null: it has none. The version that a new program gets.
void* function_of_libc(const char* name);

// Whether the program's malloc() is not libc's.
bool program_has_malloc();

// The version of a function of libc's that a new program gets, for the one that dlsym() has found
// by RTLD_NEXT: in older libcs (2.31) that is the oldest. Other functions stay as they are.
void* newest_version(void* function, const char* name);

}  // namespace patchbay
