// SPDX-License-Identifier: MIT
#include "agent/libc_entries.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "agent/signal_hooks.h"
#include "agent/stand_ins.h"
#include "arch/x86_64/text_memory.h"
#include "hot/rseq.h"

namespace {

int with_errno(long result) {
  if (result >= 0) return int(result);
  errno = int(-result);
  return -1;
}

}  // namespace

extern "C" {
long pb_syscall(long number, ...) __attribute__((visibility("hidden")));  // own_rseq.cc
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

struct Entry {
  const char* name;
  uint64_t ours;
  bool executes;
};
template <typename Function>
Entry entry(const char* name, Function* ours, bool executes) {
  return {name, reinterpret_cast<uint64_t>(ours), executes};
}
constexpr size_t kEntries = 6;
const std::array<Entry, kEntries>& entries() {
  static const std::array<Entry, kEntries> list = {
      entry("execve", pb_execve, true),
      entry("execveat", pb_execveat, true),  // since glibc 2.34
      entry("fexecve", pb_fexecve, true),
      entry("sigaction", pb_sigaction, false),
      entry("sigprocmask", pb_sigprocmask, false),
      entry("pthread_sigmask", pb_pthread_sigmask, false),
  };
  return list;
}

// Those that are traced where they are now. Constructors of ours run later than the first of them.
constinit std::vector<StandIn> g_replaced;

bool write_jump(uint64_t from, uint64_t to) {
  const int64_t distance = int64_t(to - from - kJumpSize);
  uint8_t code[kJumpSize] = {0xe9};
  const auto relative = int32_t(distance);
  if (relative != distance) return false;
  std::memcpy(code + 1, &relative, sizeof relative);
  TextMemory memory;
  return memory.write(from, code, sizeof code);
}

// Before glibc 2.34 libpthread has some of these once more. A program of its own libc has none.
template <typename Visit>
void each_entry(const Visit& visit) {
  uint64_t of_libc[kEntries] = {};
  for (const char* library : {"libc.so.6", "libpthread.so.0"}) {
    void* const loaded = ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    for (size_t i = 0; loaded && i < kEntries; i++) {
      const auto real = reinterpret_cast<uint64_t>(::dlsym(loaded, entries()[i].name));
      if (real && real != of_libc[i]) visit(entries()[i], real);
      of_libc[i] = real;
    }
    if (loaded) ::dlclose(loaded);
  }
}

}  // namespace

void replace_libc_entries() {
  each_entry([](const Entry& one, uint64_t real) {
    if (write_jump(real, one.ours)) note_replaced({one.name, {real, one.ours}, one.executes});
  });
  (void)sync_all_cores();
}

std::vector<LibcEntry> libc_entries() {
  std::vector<LibcEntry> list;
  each_entry([&list](const Entry& one, uint64_t real) {
    list.push_back({one.name, {real, one.ours}, one.executes});
  });
  return list;
}

void note_replaced(const LibcEntry& entry) {
  if (entry.executes) g_replaced.push_back(entry.at);
}

namespace {
StandIn syscall_of_libc() {
  void* const libc = ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (!libc) return {0, 0};
  const StandIn one = {reinterpret_cast<uint64_t>(::dlsym(libc, "syscall")),
                       reinterpret_cast<uint64_t>(&pb_syscall)};
  ::dlclose(libc);
  return one;
}
}  // namespace

bool replace_syscall_entry() {
  const StandIn one = syscall_of_libc();
  if (!one.real || !write_jump(one.real, one.stand_in)) return false;
  (void)sync_all_cores();
  g_replaced.push_back(one);
  return true;
}

std::vector<StandIn> entry_stand_ins() { return g_replaced; }

std::vector<NamedStandIn> entries_to_hook() {
  std::vector<NamedStandIn> list;
  each_entry([&list](const Entry& one, uint64_t real) {
    if (one.executes) list.push_back({one.name, {real, one.ours}, false});
  });
  if (rseq_is_own()) list.push_back({"syscall", syscall_of_libc(), false});
  return list;
}

}  // namespace patchbay
