// SPDX-License-Identifier: MIT
#include "serve/own_descriptors.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace patchbay::serve {

namespace {

// Closes every descriptor of the calling thread's own table but `kept` (-1: none). Old kernels
// have no close_range.
void close_all(int kept) {
  const bool has_range = ::syscall(SYS_close_range, unsigned(kept + 1), ~0u, 0u) == 0;
  for (int fd = 0; fd < (has_range ? kept : 65536); fd++)
    if (fd != kept) ::close(fd);
}

}  // namespace

bool private_descriptors(int* kept) {
  if (::unshare(CLONE_FILES) != 0) return false;
  if (kept) {
    constexpr int kLowest = 3;
    const int moved = ::fcntl(*kept, F_DUPFD_CLOEXEC, kLowest);
    if (moved >= 0) *kept = moved;
  }
  close_all(kept ? *kept : -1);
  // The lowest number each time: 0, 1, 2, so that no socket is ever taken for a standard stream.
  for (int i = 0; i < 3; i++) (void)!::open("/dev/null", O_RDWR | O_CLOEXEC);
  return true;
}

OwnedFd::OwnedFd(UniqueFd fd) : fd_(fd.release()) {
  struct stat status;
  if (fd_ < 0 || ::fstat(fd_, &status) != 0) return;
  device_ = status.st_dev;
  inode_ = status.st_ino;
}
OwnedFd::OwnedFd(OwnedFd&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), device_(other.device_), inode_(other.inode_) {}
OwnedFd& OwnedFd::operator=(OwnedFd&& other) noexcept {
  if (this == &other) return *this;
  close_if_ours();
  fd_ = std::exchange(other.fd_, -1);
  device_ = other.device_;
  inode_ = other.inode_;
  return *this;
}
OwnedFd::~OwnedFd() { close_if_ours(); }

bool OwnedFd::still_ours() const {
  struct stat status;
  return fd_ >= 0 && ::fstat(fd_, &status) == 0 && status.st_dev == device_ &&
         status.st_ino == inode_;
}

void OwnedFd::close_if_ours() {
  if (still_ours()) ::close(fd_);
  fd_ = -1;
}

}  // namespace patchbay::serve
