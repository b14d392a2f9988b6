// SPDX-License-Identifier: MIT
//
// System calls of followed tasks. What a call's path points to is copied into our memory for as
// long as the call lasts, so that an event probe can read it at the call's end too.
#include <linux/futex.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

// A macro of <signal.h>, which would get into the text of an event's print format.
#undef sa_handler

#include "followed.h"
#include "kernel.h"
#include "kernel_events.h"
#include "peek.h"

namespace standin {

task_struct idle_task = {0, 120, 0, "swapper/0", standin_runs_on, 0};

namespace {

constexpr size_t kMostText = 64 * 1024;  // of a write that we look into
constexpr unsigned kWakesAll = 3;        // sleeping interruptibly or not

const char* last_part(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

bool begins(const char* text, const char* with) { return strncmp(text, with, strlen(with)) == 0; }

bool may_sleep(const Followed* f) {
  switch (f->call) {
    case SYS_wait4: return !(f->args[2] & WNOHANG);
    case SYS_waitid: return !(f->args[3] & WNOHANG);
    case SYS_poll: return f->args[2] != 0;
    case SYS_recvfrom: return !(f->args[3] & MSG_DONTWAIT);
    case SYS_recvmsg: return !(f->args[2] & MSG_DONTWAIT);
    case SYS_read: return begins(f->path, "pipe:") || begins(f->path, "socket:");
    case SYS_futex: {
      const unsigned long command = f->args[1] & FUTEX_CMD_MASK;
      return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
    }
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_restart_syscall:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_epoll_wait:
    case SYS_pause:
    case SYS_rt_sigsuspend:
    case SYS_rt_sigtimedwait: return true;
    default: return false;
  }
}

// Which argument is a path; -1: none.
int argument_with_path(long call) {
  switch (call) {
    case SYS_open:
    case SYS_chdir:
    case SYS_execve:
    case SYS_mkdir:
    case SYS_symlink: return 0;
    case SYS_openat:
    case SYS_openat2:
    case SYS_execveat:
    case SYS_mkdirat: return 1;
    case SYS_symlinkat: return 0;
    default: return -1;
  }
}
int argument_with_second_path(long call) {
  return call == SYS_symlink ? 1 : call == SYS_symlinkat ? 2 : -1;
}

// The arguments as the events have them: paths are where we have copied them to.
void read_arguments(Followed* f, unsigned long* shown) {
  memcpy(shown, f->args, sizeof(f->args));
  f->path[0] = f->second_path[0] = 0;
  const int first = argument_with_path(f->call);
  const int second = argument_with_second_path(f->call);
  const pid_t pid = f->task.pid;
  if (first >= 0) peek_string(pid, f->args[first], f->path, sizeof(f->path));
  if (second >= 0) peek_string(pid, f->args[second], f->second_path, sizeof(f->second_path));
  if (f->path[0]) shown[first] = reinterpret_cast<unsigned long>(f->path);
  if (f->second_path[0]) shown[second] = reinterpret_cast<unsigned long>(f->second_path);
  if (f->call == SYS_read || f->call == SYS_write)
    peek_file_name(pid, unsigned(f->args[0]), f->path, sizeof(f->path));
}

void record_enter(long call, const unsigned long* a) {
  const int nr = int(call);
  switch (call) {
    case SYS_open: PB_TRACE(sys_enter_open, nr, a[0], a[1], a[2]); break;
    case SYS_openat: PB_TRACE(sys_enter_openat, nr, a[0], a[1], a[2], a[3]); break;
    case SYS_openat2: PB_TRACE(sys_enter_openat2, nr, a[0], a[1], a[2], a[3]); break;
    case SYS_close: PB_TRACE(sys_enter_close, nr, a[0]); break;
    case SYS_read: PB_TRACE(sys_enter_read, nr, a[0], a[1], a[2]); break;
    case SYS_write: PB_TRACE(sys_enter_write, nr, a[0], a[1], a[2]); break;
    case SYS_chdir: PB_TRACE(sys_enter_chdir, nr, a[0]); break;
    case SYS_getppid: PB_TRACE(sys_enter_getppid, nr); break;
    case SYS_clone: PB_TRACE(sys_enter_clone, nr, a[0], a[1], a[2], a[3], a[4]); break;
    case SYS_clone3: PB_TRACE(sys_enter_clone3, nr, a[0], a[1]); break;
    case SYS_vfork: PB_TRACE(sys_enter_vfork, nr); break;
    case SYS_execve: PB_TRACE(sys_enter_execve, nr, a[0], a[1], a[2]); break;
    case SYS_exit_group: PB_TRACE(sys_enter_exit_group, nr, a[0]); break;
    case SYS_wait4: PB_TRACE(sys_enter_wait4, nr, a[0], a[1], a[2], a[3]); break;
    case SYS_nanosleep: PB_TRACE(sys_enter_nanosleep, nr, a[0], a[1]); break;
    case SYS_clock_nanosleep:
      PB_TRACE(sys_enter_clock_nanosleep, nr, a[0], a[1], a[2], a[3]);
      break;
    case SYS_mkdir: PB_TRACE(sys_enter_mkdir, nr, a[0], a[1]); break;
    case SYS_mkdirat: PB_TRACE(sys_enter_mkdirat, nr, a[0], a[1], a[2]); break;
    case SYS_symlink: PB_TRACE(sys_enter_symlink, nr, a[0], a[1]); break;
    case SYS_symlinkat: PB_TRACE(sys_enter_symlinkat, nr, a[0], a[1], a[2]); break;
    case SYS_kill: PB_TRACE(sys_enter_kill, nr, a[0], a[1]); break;
    default: break;
  }
}

#define STANDIN_EXIT(call) \
  case SYS_##call: PB_TRACE(sys_exit_##call, nr, result); break;

void record_exit(long call, long result) {
  const int nr = int(call);
  switch (call) {
    STANDIN_EXIT(open)
    STANDIN_EXIT(openat)
    STANDIN_EXIT(openat2)
    STANDIN_EXIT(close)
    STANDIN_EXIT(read)
    STANDIN_EXIT(write)
    STANDIN_EXIT(chdir)
    STANDIN_EXIT(getppid)
    STANDIN_EXIT(clone)
    STANDIN_EXIT(clone3)
    STANDIN_EXIT(vfork)
    STANDIN_EXIT(execve)
    STANDIN_EXIT(wait4)
    STANDIN_EXIT(nanosleep)
    STANDIN_EXIT(clock_nanosleep)
    STANDIN_EXIT(mkdir)
    STANDIN_EXIT(mkdirat)
    STANDIN_EXIT(symlink)
    STANDIN_EXIT(symlinkat)
    STANDIN_EXIT(kill)
    default: break;
  }
}

void kill_task(pid_t pid, int signal, int code, bool whole_group) {
  task_struct to = {};
  to.pid = pid;
  if (signal && pid > 0 && peek_comm(pid, to.comm)) generate_signal(to, signal, code, whole_group);
}

// A probe's directory is made by the write that defines it.
void create_directories(const Followed* f, long written) {
  static thread_local char text[kMostText];
  if (written <= 0) return;
  size_t size = size_t(written) < sizeof(text) - 1 ? size_t(written) : sizeof(text) - 1;
  text[peek_bytes(f->task.pid, f->args[1], text, size)] = 0;
  dentry root = {{1, "/"}, nullptr};
  char* rest = nullptr;
  for (char* line = strtok_r(text, "\n;", &rest); line; line = strtok_r(nullptr, "\n;", &rest)) {
    char* name = strchr(line, ':');
    if (!name || *line == '-' || *line == '!' || *line == '#') continue;
    name++;
    name[strcspn(name, " \t")] = 0;
    const char* event = last_part(name);
    if (!*event) continue;
    tracefs_create_dir(event, &root);
    eventfs_create_dir(event, nullptr, nullptr, 0, nullptr);
  }
}

void write_file(const Followed* f, long result) {
  const char* name = last_part(f->path);
  if (strcmp(name, "kprobe_events") == 0 || strcmp(name, "dynamic_events") == 0)
    create_directories(f, result);
  if (!begins(f->path, "/proc/")) return;
  dentry entry = {{unsigned(strlen(name)), name}, nullptr};
  file file = {1, {nullptr, &entry}, 0, &result};
  proc_reg_write(&file, reinterpret_cast<const char*>(f->args[1]), f->args[2], &file.f_pos);
}

void read_file(const Followed* f, long result) {
  const char* name = last_part(f->path);
  char byte = 0;
  dentry entry = {{unsigned(strlen(name)), name}, nullptr};
  file file = {0, {nullptr, &entry}, 0, &result};
  vfs_read(&file, &byte, f->args[2], &file.f_pos);
}

// A second name for a file. The new name's entry is at an address that only a kernel has.
void make_symlink(const Followed* f) {
  auto* entry = reinterpret_cast<dentry*>(0xffff888000001000);
  filename* name = getname_flags(f->path, 0);
  vfs_symlink(nullptr, nullptr, entry, name->name);
  putname(name);
}

void make_directory(const Followed* f, int folder, unsigned long mode) {
  filename* name = getname_flags(f->path, 0);
  do_mkdirat(folder, name, static_cast<unsigned short>(mode));
  putname(name);
}

void begin_call(Followed* f) {
  switch (f->call) {
    case SYS_kill: kill_task(pid_t(f->args[0]), int(f->args[1]), SI_USER, true); break;
    case SYS_tgkill: kill_task(pid_t(f->args[1]), int(f->args[2]), SI_TKILL, false); break;
    case SYS_wait4:
      PB_TRACE(sched_process_wait, f->task.comm, pid_t(f->args[0]) > 0 ? pid_t(f->args[0]) : 0,
               f->task.prio);
      break;
    default: break;
  }
}

void finish_call(Followed* f, long result) {
  f->task.opens = result;
  open_how how = {};
  switch (f->call) {
    case SYS_open:
      do_sys_open(-100, f->path, int(f->args[1]), static_cast<unsigned short>(f->args[2]));
      break;
    case SYS_openat:
      do_sys_open(int(f->args[0]), f->path, int(f->args[2]),
                  static_cast<unsigned short>(f->args[3]));
      break;
    case SYS_openat2:
      peek_bytes(f->task.pid, f->args[2], reinterpret_cast<char*>(&how), sizeof(how));
      do_sys_openat2(int(f->args[0]), f->path, &how);
      break;
    case SYS_read: read_file(f, result); break;
    case SYS_write: write_file(f, result); break;
    case SYS_close: close_fd(unsigned(f->args[0])); break;
    case SYS_symlink:
    case SYS_symlinkat: make_symlink(f); break;
    case SYS_mkdir: make_directory(f, -100, f->args[1]); break;
    case SYS_mkdirat: make_directory(f, int(f->args[0]), f->args[2]); break;
    case SYS_chdir: putname(getname_flags(f->path, 0)); break;
    default: break;
  }
}

}  // namespace

void go_to_sleep(Followed* f) {
  f->task.prio = peek_priority(f->task.pid);
  f->task.leaves = standin_sleeps;
  f->sleeps = true;
  standin_play(&f->task, &idle_task);
  schedule();
}

void wake_up(Followed* f) {
  f->sleeps = false;
  standin_play(&idle_task, &f->task);
  try_to_wake_up(&f->task, kWakesAll, 0);
  schedule();
}

void generate_signal(const task_struct& to, int signal, int code, bool to_group) {
  PB_TRACE(signal_generate, signal, 0, code, to.comm, to.pid, to_group, 0);
}

void deliver_signal(const siginfo_t& info) {
  PB_TRACE(signal_deliver, info.si_signo, info.si_errno, info.si_code, 0, 0);
}

void enter_system_call(Followed* f) {
  unsigned long shown[6];
  PB_TRACE(sys_enter, f->call, f->args);
  read_arguments(f, shown);
  record_enter(f->call, shown);
  begin_call(f);
  if (may_sleep(f)) go_to_sleep(f);
}

void leave_system_call(Followed* f, long result) {
  finish_call(f, result);
  record_exit(f->call, result);
  PB_TRACE(sys_exit, f->call, result);
}

}  // namespace standin
