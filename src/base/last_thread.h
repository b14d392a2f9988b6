// SPDX-License-Identifier: MIT
//
// A thread of ours in a program's process keeps the process alive. glibc ends a process when the
// last thread that it counts leaves by pthread_exit(); one that leaves by the system call itself
// (exit, not exit_group) tells nobody. So our thread looks from time to time whether it is alone.
#pragma once

namespace patchbay {

// Called on the first thread: from here on is_last_thread() makes no system call while that lives
// (a program may forbid them to all its threads). The kernel clears a word of memory when it ends;
// where that is not known (no CONFIG_CHECKPOINT_RESTORE), nothing changes. A forked child has
// another first thread, and forgets.
void remember_first_thread();
void forget_first_thread();

// Every thread of this process but the calling one has ended. Then none can come any more: there
// is nobody who could make one. False as well where it cannot be known (no /proc). At most a few
// microseconds while the first thread lives.
bool is_last_thread();

// What the first thread has given to the system call exit; 0 while it lives or where that cannot be
// known. Without others it is the status of the process.
int first_thread_status();

}  // namespace patchbay
