// SPDX-License-Identifier: MIT
//
// The buffer files that a process has in its directory, dead or alive:
//
//   DIR/PID/buffer                    the top one: formats, comms and modules for all of them
//   DIR/PID/snapshot                  its snapshot, "snapshot"
//   DIR/PID/instances/NAME/buffer     an instance, "NAME"
//   DIR/PID/instances/NAME/snapshot   its snapshot, "NAME/snapshot"
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace patchbay::cmd {

struct BufferPart {
  std::string name;  // "": the top one
  std::string path;
};

struct BufferSource {
  std::string top;  // the file that decodes the parts; itself a part or not
  std::vector<BufferPart> parts;

  // The process's directory, without what leads to it: "1234", "1234.1".
  std::string process() const;
};

// Finds what a path means: one file (an instance's comes with the top one beside it), everything in
// a process's directory, or all processes of a runtime directory, in order of their names.
Result<std::vector<BufferSource>> find_buffer_sources(const std::string& path);
// Everything in a directory that has a file named buffer.
BufferSource source_of_directory(const std::string& directory);

}  // namespace patchbay::cmd
