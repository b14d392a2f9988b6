// SPDX-License-Identifier: MIT
#pragma once

#include <limits.h>
#include <signal.h>
#include <sys/types.h>

#include "kernel.h"

namespace standin {

// A followed task.
struct Followed {
  Followed* next = nullptr;
  task_struct task = {};
  bool is_born = false;  // its fork has been played: it may run
  bool waits_to_be_born = false;
  bool sleeps = false;  // off its CPU, in a system call
  bool is_dead = false;
  pid_t tells = 0;       // its parent of its end, 0: nobody
  long call = -1;  // the system call it is in, or was in last
  unsigned long args[6] = {};
  // What the call works on, in our memory from its begin to its end: a path or the name of an open
  // file (and of symlink the second path).
  char path[PATH_MAX] = "";
  char second_path[PATH_MAX] = "";
};

// The idle task of the CPU on which the followed tasks run.
extern task_struct idle_task;

// The task goes off its CPU, and comes back.
void go_to_sleep(Followed* followed);
void wake_up(Followed* followed);

// The task that is played sends a signal, or is given one.
void generate_signal(const task_struct& to, int signal, int code, bool to_group);
void deliver_signal(const siginfo_t& info);

// Both ends of a system call of a task that is the one played: events and functions.
void enter_system_call(Followed* followed);
void leave_system_call(Followed* followed, long result);

}  // namespace standin
