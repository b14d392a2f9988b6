// SPDX-License-Identifier: MIT
//
// The virtual tree: every tracefs file is one object here, whatever carries the calls (socket now,
// FUSE later). Called by the control thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace patchbay::tracefs {

// One file. read() makes the whole text (a snapshot per open); write() is one command.
class File {
 public:
  virtual ~File() = default;
  virtual uint32_t mode() const = 0;  // 0644 …
  virtual Status open(uint32_t flags) {
    (void)flags;
    return {};
  }  // O_TRUNC semantics live here
  virtual Result<std::string> read() { return user_error(22, "this file cannot be read"); }
  // Returns the bytes consumed.
  virtual Result<size_t> write(std::string_view bytes) {
    (void)bytes;
    return user_error(22, "this file cannot be written");
  }
};

// A directory whose entries may come and go with events.
class Directory {
 public:
  virtual ~Directory() = default;
  virtual std::vector<std::string> list() = 0;                    // sub-directories end in '/'
  virtual std::unique_ptr<File> file(std::string_view name) = 0;  // null: no such file
  virtual std::unique_ptr<Directory> directory(
      std::string_view name) = 0;  // null: no such directory
};

struct Node {
  std::unique_ptr<File> file;
  std::unique_ptr<Directory> directory;
};
// Walks a path below `root` ("" is the root itself). ENOENT when there is none; ".." is refused.
Result<Node> lookup(Directory& root, std::string_view path);

}  // namespace patchbay::tracefs
