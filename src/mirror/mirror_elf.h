// SPDX-License-Identifier: MIT
//
// The small ELF object that makes one event visible to the kernel's tools: a probe of the kind that
// <sys/sdt.h> makes. It is written to a file and mapped, never loaded by ld.so.
//
//   offset = address
//   0x000  ELF header, program headers        r-x   mapped private and executable
//   0x400  the stub: a 5-byte nop, ret
//   0x480  .stapsdt.base
//   0x500  .note.stapsdt   provider = system, name = event, arguments, 0x400, 0x1000
//   0x1000 .probes: the semaphore, 16 bytes   rw-   mapped private and writable: the kernel counts
//                                                   its listeners in each process
//   0x1040 .symtab, .strtab, .shstrtab, section headers
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace patchbay {

inline constexpr uint64_t kMirrorStubAt = 0x400, kMirrorSemaphoreAt = 0x1000;
inline constexpr uint64_t kMirrorPage = 0x1000;  // of the text; as much of the file is the data

// The bytes of the file. E2BIG: names and arguments are longer than the note's room, some 2800
// bytes.
Result<std::vector<uint8_t>> mirror_elf(std::string_view system, std::string_view event,
                                        std::string_view arguments);

}  // namespace patchbay
