// SPDX-License-Identifier: MIT
//
// Sections that are compressed by zstd (gcc -gz=zstd, distributions from 2023 on), which libelf
// reads only from its version 0.189 on. They are unpacked into a copy of the file.
#pragma once

#include <optional>
#include <string>

#include "base/file_mapping.h"
#include "base/result.h"
#include "base/unpacked_bytes.h"
#include "symbol/elf_image.h"

namespace patchbay {

// Of an ELF file of 64 bits; nothing: it has no such section. An error says which section is
// damaged, or larger than what a tool should unpack.
Result<std::optional<FileMapping>> with_zstd_unpacked(const std::string& path,
                                                      const FileMapping& file);

// The right to hold what libelf will unpack of that file: as many bytes as its sections say, which
// are packed by zlib. An error: that would be too much.
Result<UnpackedBytes> take_zlib_bytes(const std::string& path, const FileMapping& file);
// The same of all packed sections of a file whose bytes these are.
Result<UnpackedBytes> take_packed_bytes(const std::string& path, Bytes file);

}  // namespace patchbay
