// SPDX-License-Identifier: MIT
//
// The symbols of local functions of a stripped file, in its section .gnu_debugdata (MiniDebugInfo):
// an ELF file of its own, packed by xz. The agent needs libc alone, and does not have them.
#pragma once

#include <optional>

#include "base/file_mapping.h"
#include "symbol/elf_image.h"

namespace patchbay {

// That file; nothing where the bytes are damaged, or too many when they are unpacked: of one file,
// or of all that are held at the time.
std::optional<FileMapping> unpacked_symbols(Bytes packed);

}  // namespace patchbay
