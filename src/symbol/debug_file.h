// SPDX-License-Identifier: MIT
//
// The separate file with the symbols of a stripped one. It is looked for where debuggers look.
#pragma once

#include <optional>
#include <string>

#include "base/file_mapping.h"
#include "symbol/elf_image.h"

namespace patchbay {

// /usr/lib/debug/.build-id/ab/cdef….debug; empty for an id that is too short.
std::string debug_path_of_build_id(const std::string& build_id);

// The debug file of the object at `path`: by build-id, else by .gnu_debuglink beside it, in .debug/
// beside it and below /usr/lib/debug. The build-id shows that it belongs to the object; where one
// of them has none, the link's checksum does. Nothing when no file belongs to it.
std::optional<FileMapping> find_debug_file(const std::string& path, const ElfImage& image,
                                           const std::string& build_id);

}  // namespace patchbay
