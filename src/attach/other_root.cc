// SPDX-License-Identifier: MIT
#include "attach/other_root.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace patchbay::attach {
namespace {

// System calls of Linux 5.2 and 5.12, which older libcs do not have.
constexpr unsigned kClone = OPEN_TREE_CLONE | O_CLOEXEC;
constexpr unsigned kNoPrivileges = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
constexpr uint64_t kPrivate = 1 << 18;  // MS_PRIVATE

int configure(int context, unsigned command, const char* key = nullptr,
              const char* value = nullptr) {
  return int(::syscall(SYS_fsconfig, context, command, key, value, 0));
}

Error needs_root(pid_t pid) {
  return user_error(EPERM, "process " + std::to_string(pid) +
                               " lives in another root directory than this command: attach as "
                               "root");
}

Status copy_to(int directory, const std::string& name, const std::string& file) {
  const UniqueFd from(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!from.valid()) return sys_error("open " + file, errno);
  const UniqueFd to(
      ::openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555));
  struct stat about = {};
  if (!to.valid() || ::fstat(from.get(), &about) != 0) return sys_error("copy " + file, errno);
  ::fchmod(to.get(), 0555);  // whatever our umask is
  for (off_t at = 0; at < about.st_size;) {
    const ssize_t moved = ::sendfile(to.get(), from.get(), &at, size_t(about.st_size - at));
    if (moved <= 0) return sys_error("copy " + file, moved < 0 ? errno : EIO);
  }
  return {};
}

// The whole file system, not only this mount of it: what has a mount of it can change nothing.
Status make_read_only(int mount) {
  const UniqueFd context(int(::syscall(SYS_fspick, mount, "", FSPICK_EMPTY_PATH | FSPICK_CLOEXEC)));
  if (!context.valid() || configure(context.get(), FSCONFIG_SET_FLAG, "ro") != 0 ||
      configure(context.get(), FSCONFIG_CMD_RECONFIGURE) != 0)
    return sys_error("make the agent's file system read-only", errno);
  return {};
}

Result<UniqueFd> new_file_system() {
  const UniqueFd context(int(::syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC)));
  if (!context.valid() || configure(context.get(), FSCONFIG_SET_STRING, "mode", "0555") != 0 ||
      configure(context.get(), FSCONFIG_CMD_CREATE) != 0)
    return sys_error("make a file system for the agent", errno);
  UniqueFd mount(int(::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, kNoPrivileges)));
  if (!mount.valid()) return sys_error("mount a file system for the agent", errno);
  return mount;
}

}  // namespace

bool lives_where_we_do(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  for (const char* name : {"/root/", "/ns/mnt"}) {
    struct stat theirs = {}, ours = {};
    if (::stat((process + name).c_str(), &theirs) != 0 ||
        ::stat((std::string("/proc/self") + name).c_str(), &ours) != 0 ||
        theirs.st_dev != ours.st_dev || theirs.st_ino != ours.st_ino)
      return false;
  }
  return true;
}

Result<UniqueFd> open_directory_for(pid_t pid, const std::string& path) {
  if (lives_where_we_do(pid)) {
    UniqueFd plain(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!plain.valid()) return sys_error("open " + path, errno);
    return plain;
  }
  UniqueFd mount(int(::syscall(SYS_open_tree, AT_FDCWD, path.c_str(), kClone)));
  if (!mount.valid()) return needs_root(pid);
  struct mount_attr attributes = {};
  attributes.attr_set = kNoPrivileges;
  // A copy of a mount is a peer of it: what the process mounts in the one would come to the other.
  attributes.propagation = kPrivate;
  if (::syscall(SYS_mount_setattr, mount.get(), "", AT_EMPTY_PATH, &attributes,
                sizeof attributes) != 0)
    return sys_error("make a mount of " + path + " of its own (it takes Linux 5.12)", errno);
  return mount;
}

Result<UniqueFd> directory_with_copy(pid_t pid, const std::string& library) {
  Result<UniqueFd> mount = new_file_system();
  if (!mount.ok()) return mount.error().errno_value == EPERM ? needs_root(pid) : mount.error();
  PB_TRY(copy_to(mount.value().get(), library.substr(library.rfind('/') + 1), library));
  PB_TRY(make_read_only(mount.value().get()));
  return mount;
}

}  // namespace patchbay::attach
