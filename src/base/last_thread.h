// SPDX-License-Identifier: MIT
//
// The agent's thread keeps the program's process alive. glibc ends a process when the last thread
// that glibc counts calls pthread_exit(). A thread that makes the system call exit itself (not
// exit_group) is not counted. So the agent's thread looks from time to time whether it is alone.
#pragma once

namespace patchbay {

// To be called on the first thread. From then on is_last_thread() makes no system call while the
// first thread lives: a program may forbid system calls to all its threads. The kernel clears a
// word of memory when the thread ends. Nothing changes where this word is not known (a kernel
// without CONFIG_CHECKPOINT_RESTORE). A forked child has another first thread and has to forget.
void remember_first_thread();
void forget_first_thread();

// Every thread of this process but the calling one has ended. No new one can come, because only a
// thread makes a thread. False as well where it cannot be known (no /proc). The call takes at most
// a few microseconds while the first thread lives.
bool is_last_thread();

// No other thread is there. False as well where it cannot be known.
bool is_only_thread();

// The status that the first thread has given to the system call exit; 0 while it lives or where
// that cannot be known. It is the status of the process when no other thread is left.
int first_thread_status();

}  // namespace patchbay
