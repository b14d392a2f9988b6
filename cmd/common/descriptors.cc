// SPDX-License-Identifier: MIT
#include "cmd/common/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>

namespace patchbay::cmd {

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

bool lacks_descriptors() {
  constexpr int kOfAProcess = 8;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  int nr_free = 0;
  for (rlim_t fd = 0; fd < limit.rlim_cur && nr_free < kOfAProcess; fd++)
    nr_free += ::fcntl(int(fd), F_GETFD) < 0;
  return nr_free < kOfAProcess;
}

std::string no_descriptors_text() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return "patchbay has no descriptor left";
  return "patchbay has no descriptor left: the limit of open files is " +
         std::to_string(limit.rlim_cur) + "; raise it with `ulimit -n`";
}

}  // namespace patchbay::cmd
