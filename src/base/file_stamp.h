// SPDX-License-Identifier: MIT
//
// What says that a path still leads to the same file with the same bytes.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace patchbay {

struct FileStamp {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  int64_t changed_ns = 0;
  bool operator==(const FileStamp&) const = default;
};

// Of no file: all zero.
inline FileStamp stamp_of(const std::string& path) {
  struct stat found = {};
  if (path.empty() || ::stat(path.c_str(), &found) != 0) return {};
  return {found.st_dev, found.st_ino, found.st_size,
          found.st_mtim.tv_sec * 1'000'000'000 + found.st_mtim.tv_nsec};
}

}  // namespace patchbay
