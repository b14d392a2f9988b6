// SPDX-License-Identifier: MIT
#include "attach/target.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "attach/proc_text.h"
#include "attach/tracing.h"

namespace patchbay::attach {

Result<Target> Target::open(pid_t pid) {
  constexpr int kTries = 3;  // it may just be executing a program
  for (int i = 0;; i++) {
    Target target;
    target.pid_ = pid;
    const std::string path = "/proc/" + std::to_string(pid);
    target.directory_.reset(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!target.directory_.valid())
      return user_error(ESRCH, "there is no process " + std::to_string(pid));
    target.process_.reset(int(::syscall(SYS_pidfd_open, pid, 0)));
    PB_ASSIGN(target.ids_, target.ids());
    PB_ASSIGN(target.credentials_, target.credentials());
    target.memory_.reset(::openat(target.directory_.get(), "mem", O_RDWR | O_CLOEXEC));
    if (!target.memory_.valid()) return sys_error("open the memory of process " + path, errno);
    if (target.is_same().ok()) return target;
    if (i == kTries) return target.is_another();
  }
}

Error Target::is_another() const {
  return user_error(ESRCH, "process " + std::to_string(pid_) +
                               " has ended, executes another program, or has changed its user or "
                               "capabilities meanwhile: nothing was changed in it");
}

// The owner of a process's directory is its effective user, whether or not it may be looked into.
Result<Target::Ids> Target::ids() const {
  struct stat owner = {}, image = {};
  if (::fstat(directory_.get(), &owner) != 0 ||
      ::fstatat(directory_.get(), "exe", &image, 0) != 0) {
    if (errno == EACCES) return sys_error("look at process " + std::to_string(pid_), errno);
    return is_another();
  }
  return Ids{owner.st_uid, owner.st_gid, image.st_dev, image.st_ino};
}

Result<std::string> Target::credentials() const {
  const auto status = read_text_at(directory_.get(), "status");
  if (!status) return is_another();
  std::string found;
  for (const char* name : {"Uid", "Gid", "CapInh", "CapPrm", "CapEff", "CapBnd"})
    found += status_field(*status, name) + '\n';
  return found;
}

Status Target::is_same() const {
  PB_ASSIGN(const Ids now, ids());
  PB_ASSIGN(const std::string may, credentials());
  return now == ids_ && may == credentials_ ? Status() : is_another();
}

bool Target::has_thread(pid_t tid) const {
  const std::string name = "task/" + std::to_string(tid);
  return ::faccessat(directory_.get(), name.c_str(), F_OK, 0) == 0;
}

Status Target::is_thread_same(pid_t tid) const {
  PB_ASSIGN(const Ids now, ids());
  return now == ids_ && has_thread(tid) ? Status() : is_another();
}

std::vector<pid_t> Target::threads() const {
  std::vector<pid_t> tids;
  UniqueFd directory(::openat(directory_.get(), "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* tasks = directory.valid() ? ::fdopendir(directory.get()) : nullptr;
  if (!tasks) return tids;
  (void)directory.release();  // the stream's from here on
  while (const dirent* entry = ::readdir(tasks))
    if (const auto tid = pid_t(std::strtol(entry->d_name, nullptr, 10)); tid > 0)
      tids.push_back(tid);
  ::closedir(tasks);
  return tids;
}

// An address space without users, after an end or an exec, reads and takes nothing.
Error Target::failed(const char* verb, ssize_t moved) const {
  const int error = errno;
  const std::string name = "process " + std::to_string(pid_);
  if (moved == 0) return is_another();
  if (moved < 0 && error == EIO && verb[0] == 'w' && is_same().ok())
    return user_error(EIO, "the kernel does not write this memory of " + name +
                               ": it is mapped no more, or the kernel was booted with "
                               "proc_mem.force_override=never, which forbids that");
  return sys_error(std::string(verb) + " memory of " + name,
                   moved > 0 || error == EIO ? EFAULT : error);
}

Status Target::read(uint64_t address, void* out, size_t size) const {
  const ssize_t moved = ::pread(memory_.get(), out, size, off_t(address));
  return moved == ssize_t(size) ? Status() : failed("read", moved);
}

Status Target::write(uint64_t address, const void* data, size_t size) const {
  count_step();
  const ssize_t moved = ::pwrite(memory_.get(), data, size, off_t(address));
  return moved == ssize_t(size) ? Status() : failed("write", moved);
}

Result<UniqueFd> Target::take_descriptor(int theirs) const {
  UniqueFd taken;
  if (process_.valid()) taken.reset(int(::syscall(SYS_pidfd_getfd, process_.get(), theirs, 0)));
  if (!taken.valid()) return sys_error("pidfd_getfd", process_.valid() ? errno : ENOSYS);
  return taken;
}

}  // namespace patchbay::attach
