// SPDX-License-Identifier: MIT
// What tests of several folders set up.
#pragma once

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

#include "base/check.h"

namespace patchbay::test {

// This thread runs on one CPU, the one that it is on or the one given, for as long as this lives.
class OneCpu {
 public:
  explicit OneCpu(uint32_t cpu = uint32_t(::sched_getcpu())) : cpu(cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    PB_CHECK(::sched_getaffinity(0, sizeof before_, &before_) == 0);
    PB_CHECK(::sched_setaffinity(0, sizeof one, &one) == 0);
  }
  OneCpu(const OneCpu&) = delete;
  ~OneCpu() { ::sched_setaffinity(0, sizeof before_, &before_); }

  const uint32_t cpu;

 private:
  cpu_set_t before_;
};

// What waitpid() says of a child that does `work` and ends with its answer.
template <typename Work>
int status_of_child(const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  PB_CHECK(::waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace patchbay::test
