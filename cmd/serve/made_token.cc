// SPDX-License-Identifier: MIT
#include "cmd/serve/made_token.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/unique_fd.h"
#include "cmd/common/web_server.h"

namespace patchbay::cmd {

Result<std::unique_ptr<MadeToken>> MadeToken::make(const std::string& runtime) {
  const std::string token = random_token(), path = runtime + "/serve.token", line = token + "\n";
  const std::string fresh = path + "." + random_token();
  if (token.empty()) return sys_error("getrandom", errno);
  const UniqueFd file(
      ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return sys_error("write " + fresh, errno);
  if (::write(file.get(), line.data(), line.size()) != ssize_t(line.size()) ||
      ::rename(fresh.c_str(), path.c_str()) != 0) {
    const int error = errno ? errno : EIO;
    ::unlink(fresh.c_str());
    return sys_error("write " + path, error);
  }
  return std::unique_ptr<MadeToken>(new MadeToken(token, path));
}

MadeToken::~MadeToken() { ::unlink(path_.c_str()); }

}  // namespace patchbay::cmd
