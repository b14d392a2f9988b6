// SPDX-License-Identifier: MIT
#include "cmd/serve/daemon_state.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"

namespace patchbay::cmd {
namespace {

constexpr size_t kMostState = 1 << 16;

std::string path_in(const std::string& runtime) { return runtime + "/serve.json"; }

}  // namespace

Result<std::unique_ptr<DaemonState>> DaemonState::hold(const std::string& runtime) {
  const std::string path = path_in(runtime);
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!fd.valid()) return sys_error("open " + path, errno);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    return user_error(
        EBUSY, "Another patchbay serve runs for " + runtime + ": `patchbay status` shows it.");
  return std::unique_ptr<DaemonState>(new DaemonState(path, std::move(fd)));
}

DaemonState::~DaemonState() { ::unlink(path_.c_str()); }

// A reader may see half of it, and asks again then: the line ends it.
void DaemonState::write(const std::string& json) const {
  const std::string line = json + "\n";
  if (::pwrite(fd_.get(), line.data(), line.size(), 0) == ssize_t(line.size()))
    (void)::ftruncate(fd_.get(), off_t(line.size()));
}

std::string daemon_state(const std::string& runtime) {
  const UniqueFd fd(
      ::open(path_in(runtime).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status;
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  if (::flock(fd.get(), LOCK_SH | LOCK_NB) == 0) return "";  // a killed one has left it
  std::string text(kMostState, '\0');
  const ssize_t size = ::pread(fd.get(), text.data(), text.size(), 0);
  text.resize(size < 0 ? 0 : size_t(size));
  return std::string(trim(text.substr(0, text.find('\n'))));
}

}  // namespace patchbay::cmd
