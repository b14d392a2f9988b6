// SPDX-License-Identifier: MIT
#include "base/own_program.h"

#include <limits.h>
#include <sys/auxv.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace patchbay {
namespace {

// A text that the kernel has left at the end of the first stack. The program may have used the
// place for something else, so the kernel is asked to read it.
std::string text_at(uint64_t address) {
  constexpr size_t kPage = 4096;
  std::string text(PATH_MAX, '\0');
  size_t size = 0;
  while (address && size < text.size()) {
    const size_t part = std::min(text.size() - size, kPage - (address + size) % kPage);
    iovec to = {text.data() + size, part};
    iovec from = {reinterpret_cast<void*>(address + size), part};
    if (::process_vm_readv(::getpid(), &to, 1, &from, 1, 0) != ssize_t(part)) break;
    if (::memchr(text.data() + size, 0, part)) return text.c_str();
    size += part;
  }
  return "";
}

}  // namespace

std::string own_program() {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  if (length > 0) return std::string(path, size_t(length));
  std::string name = text_at(::getauxval(AT_EXECFN));
  if (name.empty() || name[0] == '/' || !::getcwd(path, sizeof path)) return name;
  name.erase(0, name.starts_with("./") ? 2 : 0);
  return std::string(path) + (path[1] ? "/" : "") + name;
}

}  // namespace patchbay
