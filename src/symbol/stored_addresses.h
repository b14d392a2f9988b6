// SPDX-License-Identifier: MIT
//
// Addresses of code that an object's data holds. No branch shows where they lead, but an indirect
// one may go there.
//
//   moved when it is loaded (PIE, libraries)      each is made by a relocation:
//                                                 DT_RELA (R_X86_64_RELATIVE, R_X86_64_64), DT_RELR
//   never moved (ET_EXEC)                         each 8 bytes, and each aligned 4 bytes, of all
//                                                 that is loaded
#pragma once

#include <cstdint>
#include <functional>

#include "symbol/elf_image.h"

namespace patchbay {

// `place` is where the address stands; both are ELF addresses. Of an object that is never moved,
// numbers that only look like an address are among them.
using StoredAddressVisitor = std::function<void(uint64_t place, uint64_t value)>;
void for_each_stored_address(const ElfImage& image, bool is_moved,
                             const StoredAddressVisitor& visit);

}  // namespace patchbay
