// SPDX-License-Identifier: MIT
#include "agent/last_texts.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace patchbay {
namespace {

constexpr int kLockTries = 1000, kLockUs = 1000;

}  // namespace

bool take_lock_at_end(std::unique_lock<std::recursive_mutex>* guard) {
  for (int i = 0; i < kLockTries; i++) {
    if (guard->try_lock()) return true;
    ::usleep(kLockUs);
  }
  return false;
}

bool keep_text(const std::string& path, const std::string& text) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  for (size_t done = 0; file.valid() && done < text.size();) {
    const ssize_t wrote = ::write(file.get(), text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) return false;
    if (wrote > 0) done += size_t(wrote);
  }
  return file.valid();
}

}  // namespace patchbay
