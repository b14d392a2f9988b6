// SPDX-License-Identifier: MIT
//
// Following: the stand-in kernel plays the kernel for processes of somebody else, such as a shell
// and all that it starts. A thread of the stand-in is their tracer (ptrace). What they do stops
// them; before they go on, the functions of kernel.h have been called and their events recorded in
// the name of the task that did it, on the processor that all of them share with the follower:
//
//   followed task                         follower (a thread of the stand-in)
//     fork()         --stop-->  kernel_clone(): task_newtask, sched_process_fork, …
//     goes on        <--------
//     execve()       --stop-->  do_execve(): task_rename, sched_process_exec
//     read(), open…  --stops->  sys_enter_…, vfs_read(), sys_exit_…
//     waits          --stops->  schedule() when it begins, try_to_wake_up() when it is over
//     exits          --stop-->  do_exit(): sched_process_exit
//
// So who forks and then reads the trace finds the fork in it. While the follower waits for a stop
// it holds no lock of the agent, and nobody who holds one waits for a followed task.
#pragma once

namespace standin {

// Listens at this socket for programs that want to be followed, one tree of processes after the
// other. False: errno says why.
bool follow_at(const char* socket);

// The other side: has this process followed by the stand-in that listens there, and becomes the
// command. Returns what to exit with when that cannot be.
int attach(const char* socket, char** command);

}  // namespace standin
