// SPDX-License-Identifier: MIT
//
// The files that a running process has its code from. A path says little: in another root directory
// or with other mounts it leads the process to another file than us, and its file may have been
// replaced or removed since. What is mapped decides. The kernel says what that is (map_files);
// where only an administrator may ask, the number of the file and its first page do.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace patchbay::attach {

struct ProcessFile {
  std::string name;  // its path as the process has it
  std::string path;  // where it is opened: the same, or a ProcessPath (base/foreign_file.h)
  bool is_program = false;
  bool is_gone = false;  // its path leads to nothing, or to another file
};
// The program first. A file that cannot be reached is not in the list.
std::vector<ProcessFile> files_of(pid_t pid);

// Holds the program, and each file that its path does not lead to from here (symbol/held_files.h).
void hold_files_of(pid_t pid);

}  // namespace patchbay::attach
