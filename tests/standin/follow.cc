// SPDX-License-Identifier: MIT
#include "follow.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "followed.h"
#include "kernel.h"
#include "local_socket.h"
#include "peek.h"

namespace standin {
namespace {

Followed* tasks;

Followed* find_task(pid_t pid) {
  for (Followed* f = tasks; f; f = f->next)
    if (f->task.pid == pid) return f;
  return nullptr;
}

// Null: there is no memory; the task then runs without being played.
Followed* add_task(pid_t pid) {
  auto* f = static_cast<Followed*>(calloc(1, sizeof(Followed)));
  if (!f) return nullptr;
  f->task.pid = pid;
  f->task.prio = idle_task.prio;
  f->task.cpu = idle_task.cpu;
  f->call = -1;
  f->next = tasks;
  tasks = f;
  return f;
}

void remove_task(Followed* f) {
  for (Followed** at = &tasks; *at; at = &(*at)->next) {
    if (*at != f) continue;
    *at = f->next;
    free(f);
    return;
  }
}

// The follower's thread is this task from now on; one that slept is awake.
void play(Followed* f) {
  if (f->sleeps) wake_up(f);
  f->task.leaves = standin_runs_on;
  standin_play(&f->task, &idle_task);
}

// The follower is itself again.
void play_nobody() { standin_play(&idle_task, nullptr); }

void go_on(pid_t pid, int signal) {
  // The error is that the task has been killed meanwhile.
  ptrace(PTRACE_SYSCALL, pid, nullptr, reinterpret_cast<void*>(long(signal)));
}

// --- stops

// Without the signal at the child's end, which has a place of its own in a kernel.
unsigned long flags_of_clone(const Followed* f) {
  unsigned long flags = 0;
  if (f->call == SYS_clone) flags = f->args[0];
  if (f->call == SYS_clone3)
    peek_bytes(f->task.pid, f->args[0], reinterpret_cast<char*>(&flags), sizeof(flags));
  if (f->call == SYS_vfork) flags = CLONE_VFORK | CLONE_VM;
  return flags & ~static_cast<unsigned long>(CSIGNAL);
}

void on_fork(Followed* parent, int event) {
  unsigned long id = 0;
  ptrace(PTRACE_GETEVENTMSG, parent->task.pid, nullptr, &id);
  Followed* child = find_task(pid_t(id));
  if (!child) child = add_task(pid_t(id));
  if (!child) return;
  child->task.prio = parent->task.prio;
  memcpy(child->task.comm, parent->task.comm, sizeof(child->task.comm));
  child->call = parent->call;
  if (event != PTRACE_EVENT_CLONE) child->tells = parent->task.pid;
  kernel_clone_args args = {flags_of_clone(parent), &parent->task, &child->task};
  kernel_clone(&args);
  child->is_born = true;
  if (child->waits_to_be_born) go_on(child->task.pid, 0);
  if (event == PTRACE_EVENT_VFORK) go_to_sleep(parent);
}

void on_exec(Followed* f) {
  if (!f->path[0]) peek_program(f->task.pid, f->path, sizeof(f->path));
  char comm[16] = "";
  peek_comm(f->task.pid, comm);
  filename name = {f->path, f->path, comm};
  do_execve(&name, nullptr, nullptr);
}

void die(Followed* f, unsigned long code) {
  if (f->is_dead) return;
  do_exit(long(code));
  if (const Followed* parent = find_task(f->tells))
    generate_signal(parent->task, SIGCHLD, WIFEXITED(int(code)) ? CLD_EXITED : CLD_KILLED, true);
  f->is_dead = true;
  f->task.leaves = standin_is_dead;
  schedule();
}

void on_signal(Followed* f) {
  siginfo_t info = {};
  if (ptrace(PTRACE_GETSIGINFO, f->task.pid, nullptr, &info) == 0) deliver_signal(info);
}

void on_system_call(Followed* f) {
  __ptrace_syscall_info info = {};
  if (ptrace(static_cast<__ptrace_request>(PTRACE_GET_SYSCALL_INFO), f->task.pid, sizeof(info),
             &info) <= 0)
    return;
  if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
    f->call = long(info.entry.nr);
    for (int i = 0; i < 6; i++) f->args[i] = info.entry.args[i];
    enter_system_call(f);
  } else if (info.op == PTRACE_SYSCALL_INFO_EXIT && f->call >= 0) {
    leave_system_call(f, info.exit.rval);
  }
}

void on_event(Followed* f, int event) {
  unsigned long message = 0;
  switch (event) {
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_CLONE:
    case PTRACE_EVENT_VFORK: on_fork(f, event); break;
    case PTRACE_EVENT_EXEC: on_exec(f); break;
    case PTRACE_EVENT_EXIT:
      ptrace(PTRACE_GETEVENTMSG, f->task.pid, nullptr, &message);
      die(f, message);
      break;
    default: break;
  }
}

bool stops_a_group(int signal) {
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

// A stop of the kind that comes without a signal: of a task that has just begun, or with its group.
void on_plain_stop(Followed* f, int signal) {
  if (stops_a_group(signal)) {
    ptrace(PTRACE_LISTEN, f->task.pid, nullptr, nullptr);
  } else if (!f->is_born) {
    f->waits_to_be_born = true;  // until its parent's stop has been seen
  } else {
    go_on(f->task.pid, 0);
  }
}

void on_stop(Followed* f, int status) {
  constexpr int kSystemCall = SIGTRAP | 0x80;
  const int event = status >> 16, signal = WSTOPSIG(status);
  if (event == PTRACE_EVENT_STOP) return on_plain_stop(f, signal);
  const bool is_signal = event == 0 && signal != kSystemCall;
  play(f);
  if (event) {
    on_event(f, event);
  } else if (is_signal) {
    on_signal(f);
  } else {
    on_system_call(f);
  }
  play_nobody();
  go_on(f->task.pid, is_signal ? signal : 0);
}

void on_end(Followed* f, int status) {
  play(f);
  die(f, unsigned(status));
  play_nobody();
  free_task(&f->task);
  remove_task(f);
}

// Until no followed task is left.
void follow_all() {
  for (;;) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, __WALL);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) return;
    Followed* f = find_task(pid);
    if (!f && WIFSTOPPED(status)) f = add_task(pid);
    if (!f) {
      go_on(pid, 0);
    } else if (WIFSTOPPED(status)) {
      on_stop(f, status);
    } else {
      on_end(f, status);
    }
  }
}

// --- who is followed

struct Greeting {
  int cpu = 0;
};

// The task that has connected, and the processor that it has chosen for all of us.
bool take_on(int connection) {
  Greeting greeting;
  ucred peer = {};
  socklen_t size = sizeof(peer);
  if (recv(connection, &greeting, sizeof(greeting), MSG_WAITALL) != sizeof(greeting) ||
      getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return false;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(unsigned(greeting.cpu), &only);
  sched_setaffinity(0, sizeof(only), &only);
  idle_task.cpu = greeting.cpu;
  snprintf(idle_task.comm, sizeof(idle_task.comm), "swapper/%d", greeting.cpu);
  constexpr unsigned long kOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK |
                                     PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                                     PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL;
  if (ptrace(PTRACE_SEIZE, peer.pid, nullptr, kOptions) != 0) return false;
  Followed* first = add_task(peer.pid);
  if (!first) return false;
  first->is_born = true;
  peek_comm(peer.pid, first->task.comm);
  return true;
}

void follow_one(int connection) {
  const int error = take_on(connection) ? 0 : errno ? errno : EPERM;
  send(connection, &error, sizeof(error), MSG_NOSIGNAL);
  close(connection);
  follow_all();
}

// This process runs on one processor from now on, the one that it is on.
Greeting choose_processor() {
  const Greeting greeting = {sched_getcpu()};
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(unsigned(greeting.cpu), &only);
  sched_setaffinity(0, sizeof(only), &only);
  return greeting;
}

// 0, or an error's number.
int be_followed(const char* socket_path) {
  const int fd = connect_to(socket_path);
  if (fd < 0) return errno;
  const Greeting greeting = choose_processor();
  int error = 0;
  if (send(fd, &greeting, sizeof(greeting), MSG_NOSIGNAL) != sizeof(greeting)) return errno;
  if (recv(fd, &error, sizeof(error), MSG_WAITALL) != sizeof(error)) return EPROTO;
  close(fd);
  return error;
}

}  // namespace

bool follow_at(const char* socket_path) {
  const int listener = listen_at(socket_path);
  return listener >= 0 && serve_each(listener, follow_one);
}

int attach(const char* socket_path, char** command) {
  const int error = be_followed(socket_path);
  if (error) {
    fprintf(stderr, "standin: %s: %s\n", socket_path, strerror(error));
    return 125;
  }
  execvp(command[0], command);
  fprintf(stderr, "standin: %s: %s\n", command[0], strerror(errno));
  return errno == ENOENT ? 127 : 126;
}

}  // namespace standin
