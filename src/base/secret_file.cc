// SPDX-License-Identifier: MIT
#include "base/secret_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/foreign_file.h"

namespace patchbay {

Result<std::string> read_secret_file(const std::string& path, size_t most) {
  uint64_t size = 0;
  PB_ASSIGN(const UniqueFd fd, open_foreign_file(path, most, &size));
  struct stat status;
  if (::fstat(fd.get(), &status) != 0) return sys_error("look at " + path, errno);
  if (status.st_mode & 077)
    return user_error(EPERM, path + " has a secret that others may read: chmod 600 it.");
  if (status.st_uid != 0 && status.st_uid != ::geteuid())
    return user_error(EPERM, path + " belongs to user " + std::to_string(status.st_uid) +
                                 ", who is neither root nor the caller.");
  return read_foreign_file(fd, path, size);
}

}  // namespace patchbay
