// SPDX-License-Identifier: MIT
#include "agent/exec_hook.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "agent/stand_ins.h"
#include "arch/x86_64/text_memory.h"

namespace {

int with_errno(long result) {
  if (result >= 0) return int(result);
  errno = int(-result);
  return -1;
}

}  // namespace

extern "C" {
PB_STAND_IN __attribute__((visibility("hidden"))) int pb_execve(const char* path,
                                                                char* const words[],
                                                                char* const environment[]) {
  return with_errno(patchbay::execute({AT_FDCWD, path, words, environment, 0, true}));
}
PB_STAND_IN __attribute__((visibility("hidden"))) int pb_execveat(int directory, const char* path,
                                                                  char* const words[],
                                                                  char* const environment[],
                                                                  int flags) {
  return with_errno(patchbay::execute({directory, path, words, environment, flags, false}));
}
PB_STAND_IN __attribute__((visibility("hidden"))) int pb_fexecve(int fd, char* const words[],
                                                                 char* const environment[]) {
  if (fd < 0 || !words || !environment) return with_errno(-EINVAL);  // as libc's
  return with_errno(patchbay::execute({fd, "", words, environment, AT_EMPTY_PATH, false}));
}
}

namespace patchbay {
namespace {

constexpr size_t kJumpSize = 5;

struct Hook {
  const char* name;
  uint64_t real = 0;  // 0: not hooked
};
constinit Hook g_hooks[] = {{"execve"}, {"execveat"}, {"fexecve"}};

uint64_t ours(const Hook& hook) {
  const uint64_t functions[] = {reinterpret_cast<uint64_t>(&pb_execve),
                                reinterpret_cast<uint64_t>(&pb_execveat),
                                reinterpret_cast<uint64_t>(&pb_fexecve)};
  return functions[&hook - g_hooks];
}

bool write_jump(uint64_t from, uint64_t to) {
  const int64_t distance = int64_t(to - from - kJumpSize);
  uint8_t code[kJumpSize] = {0xe9};
  const auto relative = int32_t(distance);
  if (relative != distance) return false;
  std::memcpy(code + 1, &relative, sizeof relative);
  TextMemory memory;
  return memory.write(from, code, sizeof code);
}

}  // namespace

// No thread is there: the program's main() has not begun. A program of its own libc has none of
// these in libc.so.6.
bool hook_exec_functions() {
  void* const libc = ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (!libc) return false;
  for (Hook& hook : g_hooks) {
    const auto real = reinterpret_cast<uint64_t>(::dlsym(libc, hook.name));  // null: an old libc
    if (real && write_jump(real, ours(hook))) hook.real = real;
  }
  ::dlclose(libc);
  (void)sync_all_cores();
  return g_hooks[0].real != 0;
}

std::vector<StandIn> exec_stand_ins() {
  std::vector<StandIn> list;
  for (const Hook& hook : g_hooks)
    if (hook.real) list.push_back({hook.real, ours(hook)});
  return list;
}

}  // namespace patchbay
