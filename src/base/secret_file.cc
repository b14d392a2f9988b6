// SPDX-License-Identifier: MIT
#include "base/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace patchbay {
namespace {

Result<std::string> read_whole(const std::string& path, bool is_secret, size_t most) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status;
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0) return sys_error("open " + path, errno);
  if (!S_ISREG(status.st_mode)) return user_error(EINVAL, path + " is no ordinary file.");
  if (is_secret && (status.st_mode & 077))
    return user_error(EPERM, path + " has a secret that others may read: chmod 600 it.");
  if (is_secret && status.st_uid != 0 && status.st_uid != ::geteuid())
    return user_error(EPERM, path + " belongs to user " + std::to_string(status.st_uid) +
                                 ", who is neither root nor the caller.");
  std::string text(most + 1, '\0');
  const ssize_t size = ::read(fd.get(), text.data(), text.size());
  if (size < 0) return sys_error("read " + path, errno);
  text.resize(size_t(size));
  if (text.size() > most) return user_error(EINVAL, path + " is too large.");
  return text;
}

}  // namespace

Result<std::string> read_secret_file(const std::string& path, size_t most) {
  return read_whole(path, true, most);
}

Result<std::string> read_small_file(const std::string& path, size_t most) {
  return read_whole(path, false, most);
}

}  // namespace patchbay
