// SPDX-License-Identifier: MIT
//
// Landing pads: the places inside functions at which the unwinder goes on when an exception, or the
// cancellation of a thread, comes through a call. No instruction leads to them.
#pragma once

#include <cstdint>
#include <vector>

#include "symbol/elf_image.h"

namespace patchbay {

// Those of one function's table (its LSDA) at the beginning of `table`, added to `pads`. `address`
// is the table's, `function` that of its start. False when the table is not well-formed.
bool add_landing_pads(Bytes table, uint64_t address, uint64_t function,
                      std::vector<uint64_t>* pads);

// All landing pads of an object, as sorted ELF addresses. False when some may be missing.
bool read_landing_pads(const ElfImage& image, std::vector<uint64_t>* pads);

}  // namespace patchbay
