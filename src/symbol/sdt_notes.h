// SPDX-License-Identifier: MIT
//
// The probes that <sys/sdt.h> leaves in a program: notes in .note.stapsdt, each with the place of a
// nop, a counter of its listeners, and the places of the arguments.
//
//   namesz "stapsdt", type 3, descriptor:
//     u64 pc | u64 address of .stapsdt.base when it was linked | u64 semaphore, 0 = none
//     provider NUL name NUL arguments NUL        arguments: "-4@%edi 8@-16(%rbp) 4@$5"
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "symbol/elf_image.h"

namespace patchbay {

struct SdtNote {
  std::string provider, name;  // a `-` is `__`, as DTrace writes it in C
  std::string_view arguments;  // as written
  uint64_t address = 0;        // ELF address of the nop; of Module::sdt_notes(): run-time address
  uint64_t semaphore = 0;      // the same; u16 in data, 0 = none
};

// In the order of the file. Notes that are malformed, lie outside of executable text (the nop) or
// of writable data (the semaphore), or whose names are no event names, are left out. Views into the
// image.
std::vector<SdtNote> read_sdt_notes(const ElfImage& image);

}  // namespace patchbay
