// SPDX-License-Identifier: MIT
//
// Files of recorded processes that their paths do not lead to from here: those of another root
// directory or other mounts, and those that were replaced or removed. They are held open, because
// names are wanted when the process may be gone. The tool alone holds any (attach/process_files.h).
#pragma once

#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace patchbay {

struct HeldFile {
  std::string build_id;  // empty: it has none, and its path says which it is
  std::string path;      // as the process has it
  std::string in_root;   // a path of foreign_file.h where it is as long as the process lives, or ""
  UniqueFd file;
};
// False: it is held already, or there are too many. Of two different files that only a path tells
// apart none is given out.
bool hold_file(HeldFile file);

// Where the file that a process has loaded is looked for, the best place first; the bytes there
// have to be looked at: only the build-id says that it is this file.
std::vector<std::string> places_of_file(const std::string& path, const std::string& build_id);
// The first of them that has this build-id; `path` itself where there is none.
std::string place_of_file(const std::string& path, const std::string& build_id);

}  // namespace patchbay
