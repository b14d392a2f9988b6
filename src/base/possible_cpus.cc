// SPDX-License-Identifier: MIT
#include "base/possible_cpus.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/unique_fd.h"

namespace patchbay {

namespace {

constexpr long kMaxCpus = 8192;  // what Linux can be built for

}  // namespace

uint32_t possible_cpus() {
  UniqueFd file(::open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC));
  char text[256];  // "0-1", "0-3,8-11"
  const ssize_t length = file.valid() ? ::read(file.get(), text, sizeof text - 1) : 0;
  if (length > 0) {
    text[length] = 0;
    const char* last = std::strrchr(text, ',') ? std::strrchr(text, ',') + 1 : text;
    if (const char* dash = std::strchr(last, '-')) last = dash + 1;
    const long highest = std::strtol(last, nullptr, 10);
    if (highest >= 0 && highest < kMaxCpus) return uint32_t(highest) + 1;
  }
  const long count = ::sysconf(_SC_NPROCESSORS_CONF);
  return count > 0 ? uint32_t(count) : 1;
}

}  // namespace patchbay
