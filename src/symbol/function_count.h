// SPDX-License-Identifier: MIT
//
// About how many functions an object has, before anything of it is read: so many entries has the
// sorted table of its .eh_frame_hdr.
#pragma once

#include <elf.h>

#include <cstdint>
#include <functional>
#include <span>

namespace patchbay {

uint64_t count_functions(std::span<const Elf64_Phdr> segments);
// Of all objects of this process but ours, or of those that have code in [start, end).
uint64_t count_own_functions(uint64_t start = 0, uint64_t end = ~uint64_t{0});
// Of an object that is mapped at `base` in another process, whose memory `read` reads. What it says
// is believed as far as `most`.
using ReadMemory = std::function<bool(uint64_t address, void* to, size_t size)>;
uint64_t count_functions_at(uint64_t base, const ReadMemory& read, uint64_t most);

}  // namespace patchbay
