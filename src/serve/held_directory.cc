// SPDX-License-Identifier: MIT
#include "serve/held_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <vector>

namespace patchbay::serve {
namespace {

constexpr int kMostLevels = 8;  // DIR/PID/instances/NAME/buffer has three

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

std::vector<std::string> names_in(int directory) {
  std::vector<std::string> names;
  UniqueFd readable(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* stream = readable.valid() ? ::fdopendir(readable.get()) : nullptr;
  if (!stream) return names;
  (void)readable.release();  // the stream's from here on
  while (const dirent* entry = ::readdir(stream)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(stream);
  return names;
}

// Neither a link nor a mount: who owns this one may have put another directory there. Before Linux
// 5.6 only what is on the same device.
int open_below(int directory, const std::string& name) {
  open_how how = {};
  how.flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH;
  const long opened = ::syscall(SYS_openat2, directory, name.c_str(), &how, sizeof how);
  if (opened >= 0 || errno != ENOSYS) return int(opened);
  UniqueFd plain(::openat(directory, name.c_str(), int(how.flags)));
  struct stat outer = {}, inner = {};
  const bool is_below = plain.valid() && ::fstat(directory, &outer) == 0 &&
                        ::fstat(plain.get(), &inner) == 0 && outer.st_dev == inner.st_dev;
  return is_below ? plain.release() : -1;
}

void empty(int directory, int levels) {
  for (const std::string& name : names_in(directory)) {
    if (::unlinkat(directory, name.c_str(), 0) == 0 || errno != EISDIR || levels == 0) continue;
    const UniqueFd inner(open_below(directory, name));
    if (inner.valid()) empty(inner.get(), levels - 1);
    (void)::unlinkat(directory, name.c_str(), AT_REMOVEDIR);
  }
}

}  // namespace

HeldDirectory HeldDirectory::open(const std::string& path) {
  HeldDirectory held;
  held.path_ = path;
  held.directory_.reset(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return held;
}

bool HeldDirectory::is(dev_t device, ino_t inode) const {
  struct stat ours = {};
  return directory_.valid() && ::fstat(directory_.get(), &ours) == 0 && ours.st_dev == device &&
         ours.st_ino == inode;
}

bool HeldDirectory::is_in_place() const {
  struct stat ours = {}, there = {};
  return directory_.valid() && ::fstat(directory_.get(), &ours) == 0 &&
         ::lstat(path_.c_str(), &there) == 0 && is_same(ours, there);
}

void HeldDirectory::remove() {
  struct stat ours = {}, there = {};
  if (!directory_.valid() || ::fstat(directory_.get(), &ours) != 0) return;
  empty(directory_.get(), kMostLevels);
  const size_t slash = path_.rfind('/');
  const UniqueFd parent(::open(path_.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string own = path_.substr(slash + 1);
  for (const std::string& name : names_in(parent.get())) {
    if (name != own && !name.starts_with(own + ".")) continue;
    if (::fstatat(parent.get(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
        is_same(ours, there))
      (void)::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR);
  }
  directory_.reset();
}

}  // namespace patchbay::serve
