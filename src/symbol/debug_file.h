// SPDX-License-Identifier: MIT
//
// The separate file that holds the symbols of a stripped one, where debuggers look for it too.
#pragma once

#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "symbol/elf_image.h"

namespace patchbay {

// /usr/lib/debug/.build-id/ab/cdef….debug; empty for an id that is too short.
std::string debug_path_of_build_id(const std::string& build_id);

// The debug file of the object at `path`: by build-id, else by .gnu_debuglink beside it, in .debug/
// beside it and below /usr/lib/debug. It is checked: by build-id when both have one, else by the
// link's checksum. Nothing when there is none, or none that belongs to it.
std::optional<Mapping> find_debug_file(const std::string& path, const ElfImage& image,
                                       const std::string& build_id);

}  // namespace patchbay
