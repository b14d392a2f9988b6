// SPDX-License-Identifier: MIT
//
// Makes the rows of an object (symbol/unwind_row.h has the drawing). Control side.
#pragma once

#include <cstdint>
#include <vector>

#include "symbol/elf_image.h"
#include "symbol/unwind_row.h"

namespace patchbay {

struct UnwindTable {
  uint64_t first = 0, last = 0;  // ELF addresses: [first, last) is covered
  std::vector<UnwindRow> rows;   // rows[0].start is 0
  std::vector<uint32_t> blocks;  // one for each block of [first, last), and one behind the last
  size_t bytes() const { return rows.size() * sizeof(UnwindRow) + blocks.size() * 4; }
};

// Of all FDEs that PT_GNU_EH_FRAME leads to. It has no rows if there are none. The bytes are
// foreign: a rule that cannot be read becomes kUnsupported, a record that cannot be is left out.
UnwindTable make_unwind_table(const ElfImage& image);

}  // namespace patchbay
