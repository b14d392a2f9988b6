// SPDX-License-Identifier: MIT
#include "base/unique_fd.h"

#include <fcntl.h>

#include <cerrno>

namespace patchbay {

bool read_exactly(int fd, uint64_t offset, void* to, size_t size) {
  auto* at = static_cast<uint8_t*>(to);
  while (size > 0) {
    ssize_t count = ::pread(fd, at, size, off_t(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    at += count;
    offset += uint64_t(count);
    size -= size_t(count);
  }
  return true;
}

Result<std::string> read_file(const std::string& path) {
  constexpr size_t kMostBytes = 64 << 20;  // a process may have mappings with very long names
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return sys_error("open " + path, errno);
  std::string text;
  char buffer[16384];
  for (;;) {
    ssize_t count = ::read(fd.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return sys_error("read " + path, errno);
    if (count == 0) return text;
    text.append(buffer, size_t(count));
    if (text.size() > kMostBytes) return sys_error("read " + path, EFBIG);
  }
}

}  // namespace patchbay
