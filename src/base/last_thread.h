// SPDX-License-Identifier: MIT
//
// A thread of ours in a program's process keeps the process alive. glibc ends a process when the
// last thread that it counts leaves by pthread_exit(); one that leaves by the system call itself
// (exit, not exit_group) tells nobody. So our thread looks from time to time whether it is alone.
#pragma once

namespace patchbay {

// Every thread of this process but the calling one has ended. Then none can come any more: there
// is nobody who could make one. False as well where it cannot be known (no /proc). A few
// microseconds while the first thread lives.
bool is_last_thread();

// What the first thread has given to the system call exit; 0 while it lives or where that cannot be
// known. Without others it is the status of the process.
int first_thread_status();

}  // namespace patchbay
