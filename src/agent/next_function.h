// SPDX-License-Identifier: MIT
//
// The library's function behind a stand-in of ours (stand_ins.h). Where the agent was preloaded it
// is the next one in the order of symbols. Where the agent came later the library's entry jumps to
// ours, and what the jump has displaced stands in a stub (libc_hooks.h): then that stub is it.
#pragma once

#include <cstdint>
#include <type_traits>

namespace patchbay {

enum class Next : uint8_t {
  kBacktrace,
  kDlFindObject,
  kEpollPwait,
  kEpollPwait2,
  kFork,
  kGetcontext,
  kInitgroups,
  kMqNotify,
  kPopen,
  kPosixSpawn,
  kPosixSpawnp,
  kPpoll,
  kPpollChk,
  kPrctl,
  kPselect,
  kPthreadAttrGetsigmask,
  kPthreadCancel,
  kPthreadCreate,
  kPthreadKill,
  kPtrace,
  kSetcontext,
  kSetegid,
  kSeteuid,
  kSetgid,
  kSetgroups,
  kSetregid,
  kSetresgid,
  kSetresuid,
  kSetreuid,
  kSetuid,
  kSigpending,
  kSigsuspend,
  kSigtimedwait,
  kSigwait,
  kSigwaitinfo,
  kSwapcontext,
  kSystem,
  kThrdCreate,
  kTimerCreate,
  kUnwindBacktrace,
  kCount,
};

// Null: the libraries have no such function. The first call for a function looks it up, which takes
// the dynamic linker's lock.
void* next_address(Next which);
template <typename Function>
Function next_function(Next which) {
  static_assert(std::is_pointer_v<Function>);
  return reinterpret_cast<Function>(next_address(which));
}

// Looks all of them up that have not been, so that no lock is taken later.
void find_next_functions();
// From now on this is the function behind the stand-in of this name; no effect for names that have
// none.
void set_next_function(const char* name, uint64_t address);

}  // namespace patchbay
