// SPDX-License-Identifier: MIT
//
// Entries of libc's that become jumps to functions of ours, where the agent was there from the
// start. Ours do all that libc's do, which is one system call, so nothing of what the jump covers
// is kept:
//
//   the program, libc itself   call execve, sigaction, sigprocmask, pthread_sigmask
//                                |
//                              libc's entry: jmp ---> pb_execve, pb_sigaction, …
//
// By symbols alone (stand_ins.h) the agent would see the program's own calls, and not those of
// libc's other functions: sigset(), sighold(), siglongjmp(), execvp() and posix_spawn() end in one
// of these (docs/signals.md), and a library that was loaded with RTLD_DEEPBIND calls libc's.
#pragma once

#include <vector>

#include "agent/stand_ins.h"
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

// In the constructor, once, where no other thread is. An entry that cannot be written stays as it
// is. A constructor of the program's may have made threads: then libc_hooks.h writes them.
void replace_libc_entries();
// What it replaces, and whether the planner has to know of it (entry_stand_ins()).
struct LibcEntry {
  const char* name;
  StandIn at;
  bool executes;
};
std::vector<LibcEntry> libc_entries();
void note_replaced(const LibcEntry& entry);
// That of syscall(), for a process in which the agent gives threads what they need for restartable
// sequences: own_rseq.cc. Then, in the agent's first thread:
bool replace_syscall_entry();
void use_own_rseq();
// Before anything is traced: threads without an area of libc's go without.
void drop_own_rseq();
// Where the functions that execute, and syscall(), are traced now (stand_ins.h); none where they
// are not replaced.
std::vector<StandIn> entry_stand_ins();
// For an agent that has come late: the tool writes those entries (libc_hooks.h).
std::vector<NamedStandIn> entries_to_hook();

}  // namespace patchbay
