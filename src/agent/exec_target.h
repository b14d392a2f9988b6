// SPDX-License-Identifier: MIT
//
// The program that an exec is about to start, looked at in the caller's place: whether its dynamic
// linker would take the agent, and if not, why.
//
//   execve("run.sh") -> #!/usr/bin/env ... -> env: ELF64 x86-64, PT_INTERP, glibc's -> it follows
//
// The caller may be the child of vfork() or posix_spawn(), with its parent's memory and 32 KB of
// stack, or a fork of a program with many threads, where any lock may be held for ever. So there
// are no locks, no memory of libc's and none of its functions: raw system calls, about 4 KB of
// stack, a bounded number of reads, one descriptor at a time. errno stays as it is.
#pragma once

#include <cstddef>

namespace patchbay {

constexpr size_t kMostOfRuntime = 192;

struct ExecDecision {
  ExecDecision() noexcept { runtime_first[0] = '\0'; }

  bool follow = false;
  // Why it is not followed, a constant: "statically linked". Null where it is followed, and where
  // nothing is started, since the exec fails by itself: no such file, a text without `#!`.
  const char* reason = nullptr;
  // What has to stand before the agent in LD_PRELOAD, as AddressSanitizer's library insists on: the
  // one that the program is linked with.
  // Mostly "".
  char runtime_first[kMostOfRuntime];
};

// For execveat(dirfd, path, ..., flags); execve(path) is AT_FDCWD and no flags. `path` is given to
// the kernel only, so it may be anything. `agent_path` is absolute, and is looked for in the root
// directory that this process has now. `words` are looked at where the dynamic linker is run as a
// program (`ld.so [OPTION...] PROGRAM`): it takes the agent as well, if it runs something.
ExecDecision decide_exec(int dirfd, const char* path, int flags, const char* agent_path,
                         char* const* words = nullptr) noexcept;

}  // namespace patchbay
