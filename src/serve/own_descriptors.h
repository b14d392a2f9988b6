// SPDX-License-Identifier: MIT
//
// Descriptors of the control thread. A program may close all of its own, or count on the lowest
// number being free. So the control thread calls private_descriptors() first, then makes the
// Server, whose sockets stand in a table that the program neither sees nor can close. Where the
// system refuses that, every OwnedFd is compared with what it was before it is used, and a closed
// listening socket is made again.
#pragma once

#include <sys/types.h>

#include "base/unique_fd.h"

namespace patchbay::serve {

// Gives the calling thread an empty descriptor table of its own (0, 1 and 2 are /dev/null). False
// when the system refuses; the thread then still shares the program's table, unchanged.
// `kept`: a descriptor that stays, and its number then (3 at least).
bool private_descriptors(int* kept = nullptr);

// A descriptor together with what it refers to, to notice that the program has closed or replaced
// it.
class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(UniqueFd fd);
  OwnedFd(OwnedFd&& other) noexcept;
  OwnedFd& operator=(OwnedFd&& other) noexcept;
  ~OwnedFd();  // closes only what is still ours
  int get() const { return fd_; }
  bool still_ours() const;

 private:
  void close_if_ours();
  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace patchbay::serve
