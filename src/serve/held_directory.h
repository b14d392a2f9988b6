// SPDX-License-Identifier: MIT
//
// A directory DIR/PID, held open: whoever has it can tell it from that of a later process with the
// same number, and remove it under the name that it has by then (DIR/PID, or DIR/PID.N when the
// later one has put it aside).
#pragma once

#include <sys/types.h>

#include <string>

#include "base/unique_fd.h"

namespace patchbay::serve {

class HeldDirectory {
 public:
  HeldDirectory() = default;
  // Nothing is held when there is none, or when it is a symbolic link.
  static HeldDirectory open(const std::string& path);

  bool is_held() const { return directory_.valid(); }
  bool is(dev_t device, ino_t inode) const;
  // Whether it still stands where it was opened.
  bool is_in_place() const;
  // Removes it with all that is in it. No link is followed, no other directory is touched.
  void remove();

 private:
  std::string path_;
  UniqueFd directory_;
};

}  // namespace patchbay::serve
