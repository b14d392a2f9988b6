// SPDX-License-Identifier: MIT
//
// The entries of libc's execve(), execveat() and fexecve() as jumps to functions of ours. These do
// all that libc's do, which is one system call; so nothing of what the jump covers is kept.
#pragma once

#include <vector>

#include "patch/patcher.h"

namespace patchbay {

struct ExecCall {
  int directory;
  const char* path;
  char* const* words;
  char* const* environment;
  int flags;       // of execveat()
  bool is_execve;  // the system call of that name
};
// follow.cc. Returns as the system call does, and only where it has failed. Raw system calls alone:
// this thread may be the child of a vfork(), or of a fork() in the middle of anything.
long execute(const ExecCall& call);

// In the constructor. False: this libc is not one that we know, or out of reach.
bool hook_exec_functions();
// Where they are traced now (stand_ins.h); none where they are not hooked.
std::vector<StandIn> exec_stand_ins();

}  // namespace patchbay
