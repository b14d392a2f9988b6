// SPDX-License-Identifier: MIT
#include "agent/stand_ins.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace patchbay {
namespace {

// One name of each function, and how a call finds ours. Where libc itself calls one of those with a
// hook, this hook is enough (thrd_create). Where the agent was preloaded, ours goes on to libc's
// function for those that are hooked alone, and that one is traced. An agent that came late does
// not leave its thread for a change of rights (thread_aside.h). Only unwinders call
// _dl_find_object().
enum class Way : uint8_t { kPreload, kHook, kHookIfPossible, kBoth };
struct Name {
  const char* name;
  Way way = Way::kBoth;
};
constexpr Name kNames[] = {
    {"_Unwind_Backtrace"},
    {"__ppoll_chk", Way::kPreload},
    {"__sigpause", Way::kPreload},
    {"__sysv_signal"},
    {"__xpg_sigpause", Way::kPreload},
    {"backtrace"},
    {"epoll_pwait"},
    {"epoll_pwait2"},
    {"fork"},
    {"getcontext", Way::kHookIfPossible},
    {"initgroups", Way::kPreload},
    {"mq_notify"},
    {"popen"},
    {"posix_spawn"},
    {"posix_spawnp"},
    {"ppoll"},
    {"prctl"},
    {"pselect"},
    {"pthread_cancel"},
    {"pthread_create"},
    {"pthread_kill"},
    {"pthread_sigmask"},
    {"ptrace"},
    {"setcontext", Way::kHookIfPossible},
    {"setegid", Way::kPreload},
    {"seteuid", Way::kPreload},
    {"setgid", Way::kPreload},
    {"setgroups", Way::kPreload},
    {"setns"},
    {"setregid", Way::kPreload},
    {"setresgid", Way::kPreload},
    {"setresuid", Way::kPreload},
    {"setreuid", Way::kPreload},
    {"setuid", Way::kPreload},
    {"sigaction"},
    {"signal"},
    {"sigpause", Way::kPreload},
    {"sigpending", Way::kHookIfPossible},
    {"sigprocmask"},
    {"sigsuspend"},
    {"sigtimedwait", Way::kHookIfPossible},
    {"sigwait", Way::kHookIfPossible},
    {"sigwaitinfo", Way::kHookIfPossible},
    {"swapcontext", Way::kHookIfPossible},
    {"system"},
    {"thrd_create", Way::kPreload},
    {"timer_create"},
    {"unshare"},
    {"vfork"},
    {"_dl_find_object", Way::kHook},
};

uint64_t found_in(void* where, const char* name) {
  const bool is_of_libgcc = name[0] == '_' && name[1] == 'U';  // ours is found by its version only
  return reinterpret_cast<uint64_t>(is_of_libgcc ? ::dlvsym(where, name, "GCC_3.3")
                                                 : ::dlsym(where, name));
}

// Before glibc 2.34 libpthread has a sigaction() of its own. Of other names the first is meant.
std::vector<uint64_t> all_in(const std::vector<void*>& libraries, const char* name) {
  std::vector<uint64_t> found;
  for (void* library : libraries) {
    const uint64_t real = found_in(library, name);
    if (!real || std::find(found.begin(), found.end(), real) != found.end()) continue;
    if (found.empty() || std::strcmp(name, "sigaction") == 0) found.push_back(real);
  }
  return found;
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
  for (const auto& [name, way] : kNames) {
    if (way == Way::kHook || way == Way::kHookIfPossible) continue;
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
  std::vector<void*> libraries;
  for (const char* library :
       {"libc.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2", "libgcc_s.so.1"})
    if (void* loaded = ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD)) libraries.push_back(loaded);
  for (const auto& [name, way] : kNames) {
    if (way == Way::kPreload) continue;
    const uint64_t ours = found_in(own, name);
    for (const uint64_t real : all_in(libraries, name))
      if (ours && real != ours) list.push_back({name, {real, ours}, way != Way::kHookIfPossible});
  }
  for (void* library : libraries) ::dlclose(library);
  ::dlclose(own);
  return list;
}

}  // namespace patchbay
