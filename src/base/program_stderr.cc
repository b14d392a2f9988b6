// SPDX-License-Identifier: MIT
#include "base/program_stderr.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace patchbay {

namespace {

// The program's own open file, with its offset. Opening /proc/self/fd/2 would make a new open file.
UniqueFd programs_stderr() {
  UniqueFd process(int(::syscall(SYS_pidfd_open, ::getpid(), 0u)));
  if (!process.valid()) return {};
  return UniqueFd(int(::syscall(SYS_pidfd_getfd, process.get(), STDERR_FILENO, 0u)));
}

}  // namespace

void write_to_program_stderr(std::string_view text) {
  const UniqueFd own = programs_stderr();
  const int fd = own.valid() ? own.get() : STDERR_FILENO;
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(size_t(written));
  }
}

}  // namespace patchbay
