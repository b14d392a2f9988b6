// SPDX-License-Identifier: MIT
#include "cmd/target/attached_mark.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "base/text.h"

namespace patchbay::cmd {
namespace {

constexpr int kLockTries = 2000, kLockUs = 10000;  // 20 s
constexpr std::string_view kSuffix = ".attached";

// N of "…/N.attached"; 0: something else.
int pid_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  std::string_view name = std::string_view(path).substr(slash == path.npos ? 0 : slash + 1);
  int pid = 0;
  if (!name.ends_with(kSuffix)) return 0;
  name.remove_suffix(kSuffix.size());
  return to_number(name, &pid) && pid > 0 ? pid : 0;
}

}  // namespace

std::string attached_mark_path(const std::string& runtime, int pid) {
  return runtime + "/" + std::to_string(pid) + std::string(kSuffix);
}

std::string start_time_of(int pid) {
  Result<std::string> stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = stat.ok() ? stat->rfind(')') : std::string::npos;
  if (name_end == std::string::npos) return "";
  constexpr int kFieldsBetween = 19;  // state … itrealvalue
  std::istringstream fields(stat->substr(name_end + 1));
  std::string field;
  for (int i = 0; i <= kFieldsBetween; i++) fields >> field;
  return fields ? field : "";
}

Result<AttachedMark> AttachedMark::lock_path(const std::string& path, int flags, int tries,
                                             bool (*is_interrupted)()) {
  for (int i = 0; i < tries; i++) {
    if (is_interrupted && is_interrupted()) return user_error(EINTR, "interrupted");
    AttachedMark mark;
    mark.path_ = path;
    mark.file_.reset(
        ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0600));
    struct stat status;
    if (!mark.is_locked() && (flags & O_CREAT)) return sys_error("make " + path, errno);
    if (!mark.is_locked() || ::fstat(mark.file_.get(), &status) != 0 ||
        status.st_uid != ::geteuid() || !S_ISREG(status.st_mode))
      return AttachedMark();
    // Where there are no locks, the file alone has to do.
    if (::flock(mark.file_.get(), LOCK_EX | LOCK_NB) != 0 &&
        (errno == EWOULDBLOCK || errno == EINTR)) {
      if (i + 1 < tries) ::usleep(kLockUs);
      continue;
    }
    // The one that has had the lock before us may have removed it.
    if (::fstat(mark.file_.get(), &status) == 0 && status.st_nlink > 0) return mark;
  }
  return user_error(ETIMEDOUT,
                    "Another command of patchbay holds " + path + " and does not come to its end.");
}

Result<AttachedMark> AttachedMark::lock_if_there(const std::string& runtime, int pid) {
  return lock_path(attached_mark_path(runtime, pid), 0, kLockTries);
}

Result<AttachedMark> AttachedMark::lock(const std::string& runtime, int pid, int wait_ms,
                                        bool (*is_interrupted)()) {
  const int tries = std::max(wait_ms * 1000 / kLockUs, 1);
  return lock_path(attached_mark_path(runtime, pid), O_CREAT, tries, is_interrupted);
}

bool AttachedMark::is_of(const std::string& start_time) const {
  char text[32];
  const ssize_t size = ::pread(file_.get(), text, sizeof text, 0);
  return size > 0 && std::string_view(text, size_t(size)) == start_time + "\n";
}

Status AttachedMark::write(const std::string& start_time) {
  const std::string line = start_time + "\n";
  errno = 0;
  if (::ftruncate(file_.get(), 0) == 0 &&
      ::pwrite(file_.get(), line.data(), line.size(), 0) == ssize_t(line.size()))
    return {};
  return sys_error("write " + path_, errno ? errno : ENOSPC);
}

void AttachedMark::remove() { ::unlink(path_.c_str()); }

std::vector<std::string> stale_marks(const std::string& runtime) {
  std::vector<std::string> stale;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(runtime, none)) {
    const std::string path = entry.path();
    if (pid_of(path) && remove_stale_mark(path, true)) stale.push_back(path);
  }
  std::sort(stale.begin(), stale.end());
  return stale;
}

bool remove_stale_mark(const std::string& path, bool dry_run) {
  Result<AttachedMark> mark = AttachedMark::lock_path(path, 0, 1);
  if (!mark.ok() || !mark->is_locked() || mark->is_of(start_time_of(pid_of(path)))) return false;
  if (!dry_run) mark->remove();
  return true;
}

}  // namespace patchbay::cmd
