// SPDX-License-Identifier: MIT
#include "agent/stand_ins.h"

#include <dlfcn.h>

namespace patchbay {
namespace {

// Of the names of one function one. _dl_find_object is left out: unwinders call it, nobody else.
constexpr const char* kNames[] = {
    "_Unwind_Backtrace",
    "__sysv_signal",
    "backtrace",
    "epoll_pwait",
    "epoll_pwait2",
    "fork",
    "popen",
    "posix_spawn",
    "posix_spawnp",
    "ppoll",
    "prctl",
    "pselect",
    "pthread_attr_setsigmask_np",
    "pthread_cancel",
    "pthread_create",
    "pthread_kill",
    "pthread_sigmask",
    "ptrace",
    "setns",
    "sigaction",
    "signal",
    "sigprocmask",
    "sigsuspend",
    "system",
    "thrd_create",
    "timer_create",
    "unshare",
    "vfork",
};

uint64_t found_in(void* where, const char* name) {
  const bool is_of_libgcc = name[0] == '_' && name[1] == 'U';  // ours is found by its version only
  return reinterpret_cast<uint64_t>(is_of_libgcc ? ::dlvsym(where, name, "GCC_3.3")
                                                 : ::dlsym(where, name));
}

}  // namespace

// The program finds ours if it does not find what comes behind us. (A program may find what is in
// itself: the entry of its PLT that leads to ours.)
std::vector<StandIn> find_stand_ins() {
  std::vector<StandIn> list;
  Dl_info self;
  if (!::dladdr(reinterpret_cast<void*>(&find_stand_ins), &self)) return list;
  void* own = ::dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!own) return list;
  for (const char* name : kNames) {
    const uint64_t real = found_in(RTLD_NEXT, name), ours = found_in(own, name);
    if (real && ours && real != ours && real != found_in(RTLD_DEFAULT, name))
      list.push_back({real, ours});
  }
  ::dlclose(own);
  return list;
}

}  // namespace patchbay
