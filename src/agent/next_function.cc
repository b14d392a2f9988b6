// SPDX-License-Identifier: MIT
#include "agent/next_function.h"

#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstring>

#include "agent/own_imports.h"

namespace patchbay {
namespace {

// In the order of Next.
constexpr const char* kNames[] = {
    "backtrace",
    "_dl_find_object",
    "epoll_pwait",
    "epoll_pwait2",
    "fork",
    "getcontext",
    "initgroups",
    "mq_notify",
    "popen",
    "posix_spawn",
    "posix_spawnp",
    "ppoll",
    "__ppoll_chk",
    "prctl",
    "pselect",
    "pthread_attr_getsigmask_np",
    "pthread_cancel",
    "pthread_create",
    "pthread_kill",
    "ptrace",
    "setcontext",
    "setegid",
    "seteuid",
    "setgid",
    "setgroups",
    "setregid",
    "setresgid",
    "setresuid",
    "setreuid",
    "setuid",
    "sigpending",
    "sigsuspend",
    "sigtimedwait",
    "sigwait",
    "sigwaitinfo",
    "swapcontext",
    "system",
    "thrd_create",
    "timer_create",
    "_Unwind_Backtrace",
};
constexpr size_t kCount = size_t(Next::kCount);
static_assert(sizeof kNames / sizeof kNames[0] == kCount);

std::atomic<void*> g_found[kCount];
char g_none;  // stands for a function that the libraries do not have

}  // namespace

void* next_address(Next which) {
  std::atomic<void*>& found = g_found[size_t(which)];
  void* address = found.load(std::memory_order_acquire);
  if (!address) {
    const char* const name = kNames[size_t(which)];
    void* const next = libc_is_complete() ? newest_version(::dlsym(RTLD_NEXT, name), name)
                                          : function_of_libc(name);
    void* const looked_up = next ? next : &g_none;
    // A hook that has come meanwhile counts.
    if (found.compare_exchange_strong(address, looked_up)) address = looked_up;
  }
  return address == &g_none ? nullptr : address;
}

void find_next_functions() {
  for (size_t i = 0; i < kCount; i++) next_address(Next(i));
}

void set_next_function(const char* name, uint64_t address) {
  for (size_t i = 0; i < kCount; i++)
    if (std::strcmp(kNames[i], name) == 0)
      g_found[i].store(reinterpret_cast<void*>(address), std::memory_order_release);
}

}  // namespace patchbay
