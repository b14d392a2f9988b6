// SPDX-License-Identifier: MIT
#pragma once

#include "symbol/elf_image.h"

namespace patchbay {

// What Go's linker writes in front of what a program says of its build, at a multiple of 16 in the
// first bytes of a segment. It is there in a stripped program, too.
inline constexpr std::string_view kGoBuildInfo = "\xff Go buildinf:";
inline constexpr uint64_t kMostGoSearch = 64 * 1024;

// Whether the file is Go's: by that, by the note of its build's id, or by its function table.
bool is_go_image(const ElfImage& image);
// A Go program that needs no library runs on stacks of its own that have no room for C, though it
// asks for a dynamic linker (go build -buildmode=pie).
bool is_go_without_libc(const ElfImage& image);

}  // namespace patchbay
