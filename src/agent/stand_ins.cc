// SPDX-License-Identifier: MIT
#include "agent/stand_ins.h"

#include <dlfcn.h>

#include <algorithm>
#include <string_view>

namespace patchbay {
namespace {

// One name of each function. _dl_find_object is not among them: only unwinders call it.
constexpr const char* kNames[] = {
    "_Unwind_Backtrace",
    "__sysv_signal",
    "backtrace",
    "epoll_pwait",
    "epoll_pwait2",
    "fork",
    "initgroups",
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
    "setegid",
    "seteuid",
    "setgid",
    "setgroups",
    "setns",
    "setregid",
    "setresgid",
    "setresuid",
    "setreuid",
    "setuid",
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

// Those that libc calls itself where it does what these do: their hooks are enough. An agent that
// came late does not leave its thread for a change of rights (thread_aside.h). And, the other way
// round, what only unwinders call.
constexpr const char* kNeedNoHook[] = {
    "initgroups", "setegid",   "seteuid",  "setgid", "setgroups",   "setregid",
    "setresgid",  "setresuid", "setreuid", "setuid", "thrd_create",
};
constexpr const char* kHookedOnly[] = {"_dl_find_object"};

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

std::vector<NamedStandIn> stand_ins_to_hook() {
  std::vector<NamedStandIn> list;
  Dl_info self;
  if (!::dladdr(reinterpret_cast<void*>(&find_stand_ins), &self)) return list;
  void* own = ::dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!own) return list;
  std::vector<const char*> names(std::begin(kNames), std::end(kNames));
  names.insert(names.end(), std::begin(kHookedOnly), std::end(kHookedOnly));
  std::vector<void*> libraries;
  for (const char* library :
       {"libc.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2", "libgcc_s.so.1"})
    if (void* loaded = ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD)) libraries.push_back(loaded);
  for (const char* name : names) {
    if (std::find_if(std::begin(kNeedNoHook), std::end(kNeedNoHook), [name](const char* one) {
          return std::string_view(one) == name;
        }) != std::end(kNeedNoHook))
      continue;
    const uint64_t ours = found_in(own, name);
    uint64_t real = 0;
    for (size_t i = 0; i < libraries.size() && !real; i++) real = found_in(libraries[i], name);
    if (real && ours && real != ours) list.push_back({name, {real, ours}});
  }
  for (void* library : libraries) ::dlclose(library);
  ::dlclose(own);
  return list;
}

}  // namespace patchbay
