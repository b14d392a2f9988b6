// SPDX-License-Identifier: MIT
// Any bytes are a program that is about to be executed. Whatever they are, the look at them ends,
// writes nothing where it may not, and says one thing: follow, why not, or nothing.
//
// The unit is compiled into this program: the library of the probe path is never sanitized.
#include "agent/exec_target_hot.cc"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace {

void expect(bool holds) {
  if (!holds) std::abort();
}

// The fuzzer's own thread has one for a moment.
bool is_free(int fd) {
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries; i++, ::usleep(1000))
    if (::fcntl(fd, F_GETFD) < 0) return true;
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int file = ::memfd_create("program", MFD_CLOEXEC);
  expect(::ftruncate(file, 0) == 0 && ::pwrite(file, data, size, 0) == ssize_t(size));
  expect(::fchmod(file, 0755) == 0);
  const int lowest = ::dup(file);  // the fuzzer's symbolizer may have taken some by now
  expect(lowest >= 0 && ::close(lowest) == 0);
  errno = 77;
  const patchbay::ExecDecision decision =
      patchbay::decide_exec(file, "", AT_EMPTY_PATH, "/proc/self/exe");
  expect(errno == 77);
  expect(!(decision.follow && decision.reason));
  const size_t length = ::strnlen(decision.runtime_first, sizeof decision.runtime_first);
  expect(length < sizeof decision.runtime_first && (decision.follow || length == 0));
  expect(is_free(lowest));  // no descriptor is left
  return 0;
}
