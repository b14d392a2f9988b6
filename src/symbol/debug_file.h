// SPDX-License-Identifier: MIT
//
// The separate file with the symbols of a stripped one. It is looked for where debuggers look.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/file_mapping.h"
#include "symbol/elf_image.h"

namespace patchbay {

// /usr/lib/debug/.build-id/ab/cdef….debug; empty for an id that is too short.
std::string debug_path_of_build_id(const std::string& build_id);

// Where the debug file of the object at `path` may be: by build-id, here and in the root directory
// of the process whose file it is (base/foreign_file.h); by the name in .gnu_debuglink beside it,
// in .debug/ beside it and below /usr/lib/debug. What is there may be anything, also older.
struct DebugFilePlaces {
  std::vector<std::string> by_id, by_link;
};
DebugFilePlaces debug_file_places(const std::string& path, const std::string& build_id,
                                  std::string_view link);

// Whether the file found by .gnu_debuglink has the checksum that stands there (CRC-32). One that is
// too large to be read for that has not.
bool has_link_checksum(Bytes file, uint32_t checksum);

// The debug file of the object at `path`. The build-id shows that it belongs to the object; where
// one of them has none, the link's checksum does. Nothing when no file belongs to it.
std::optional<FileMapping> find_debug_file(const std::string& path, const ElfImage& image,
                                           const std::string& build_id);

// How the tool unpacks .gnu_debugdata (debug_info/packed_symbols.h). Nobody does in the agent,
// which needs libc alone.
using UnpackSymbols = std::optional<FileMapping> (*)(Bytes packed);
void set_symbol_unpacker(UnpackSymbols unpack);
// What the object has there; nothing also where nobody unpacks it.
std::optional<FileMapping> packed_symbols(const ElfImage& image);

}  // namespace patchbay
