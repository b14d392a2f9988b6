// SPDX-License-Identifier: MIT
//
// The stubs through which an object calls others: one jmp through a word that the dynamic linker
// fills with the function's address.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "symbol/elf_image.h"

namespace patchbay {

struct PltEntry {
  uint64_t address = 0;  // in the file
  uint32_t size = 0;
  std::string_view name;  // of the function, without @VERSION
};

// The words of all such stubs, and of calls that the compiler has made without one (-fno-plt), by
// address.
std::vector<PltEntry> read_import_words(const ElfImage& image);

// By address. Where calls come in (.plt.sec, where there is one, not .plt behind it).
std::vector<PltEntry> read_plt(const ElfImage& image);

}  // namespace patchbay
