// SPDX-License-Identifier: MIT
#include "free_running.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "kernel.h"
#include "kernel_events.h"

namespace standin {
namespace {

constexpr int kFirstWorker = 4190000;  // ids of tasks that are only played, above those of a system
constexpr int kFirstForked = 4100000;
constexpr int kMaxForked = 80000;
constexpr long kSysOpenat = 257, kSysGetppid = 110;

// What one processor has: two tasks that take turns, and things for its functions to work on.
struct Cpu {
  int number = 0;
  task_struct task = {}, worker = {};
  mutex lock = {};
  raw_spinlock_t spin = {};
  timer_list timer = {};
  unsigned long turns = 0;
  int forked = 0;
};

void name_task(task_struct* task, const char* kind, int cpu, pid_t pid) {
  task->pid = pid;
  task->prio = 120;
  task->cpu = cpu;
  task->opens = 3;
  snprintf(task->comm, sizeof(task->comm), "%s/%d", kind, cpu);
}

void do_work(work_struct* work) { asm volatile("" : : "r"(work)); }

void take_locks(Cpu* cpu) {
  mutex_lock(&cpu->lock);
  mutex_unlock(&cpu->lock);
  (void)mutex_trylock(&cpu->lock);
  _raw_spin_lock(&cpu->spin);
  _raw_spin_unlock(&cpu->spin);
  rcu_read_lock();
  rcu_read_unlock();
  cpus_read_lock();
  cpus_read_unlock();
}

void call_the_system() {
  static const char kPath[] = "/etc/passwd";
  const unsigned long path = reinterpret_cast<unsigned long>(kPath);
  const unsigned long args[6] = {unsigned(-100), path, 0, 0644, 0, 0};
  PB_TRACE(sys_enter, kSysOpenat, args);
  PB_TRACE(sys_enter_openat, int(kSysOpenat), args[0], path, args[2], args[3]);
  const long fd = do_sys_open(-100, kPath, 0, 0644);
  PB_TRACE(sys_exit_openat, int(kSysOpenat), fd);
  PB_TRACE(sys_exit, kSysOpenat, fd);
  PB_TRACE(sys_enter_close, 3, unsigned(fd));
  PB_TRACE(sys_exit_close, 3, close_fd(unsigned(fd)));
  PB_TRACE(sys_enter_getppid, int(kSysGetppid));
  PB_TRACE(sys_exit_getppid, int(kSysGetppid), 1);
}

// What a kernel does now and then.
void do_rare_things(Cpu* cpu) {
  console_lock();
  console_unlock();
  schedule_timeout(1);
  preempt_schedule();
  locks_lock_inode_wait(nullptr, &cpu->lock);
  sched_rt_period_timer(&cpu->timer);
  sys_off_notify(nullptr, cpu->turns, nullptr);
  dentry root = {{1, "/"}, nullptr};
  path path = {nullptr, &root};
  file file = {0, path, 0, nullptr};
  proc_reg_write(&file, "", 0, &file.f_pos);
  vfs_writev(&file, nullptr, 0, &file.f_pos);
  vfs_symlink(nullptr, nullptr, &root, "old");
  tracefs_create_dir("test", &root);
  eventfs_create_dir("test", nullptr, nullptr, 0, nullptr);
  inet_csk_accept(nullptr, nullptr);
  filename name = {"test", "test", nullptr};
  do_mkdirat(-100, &name, 0755);
  security_prepare_creds(cpu, cpu, 0xcc0);
  cpu->turns += unsigned(device_name_length("eth0") == driver_name_length("sda"));
  cpu->turns += call_small_functions(0) == 0;
}

// A task is made, runs a program, ends, is waited for.
void fork_once(Cpu* cpu) {
  task_struct child = {};
  name_task(&child, "forked", cpu->number, kFirstForked + cpu->forked++ % kMaxForked);
  task_struct* parent = standin_current();
  kernel_clone_args args = {0, parent, &child};
  kernel_clone(&args);
  standin_play(&child, parent);
  filename name = {"/bin/true", "/bin/true", nullptr};
  do_execve(&name, nullptr, nullptr);
  do_exit(0);
  standin_play(parent, &cpu->worker);
  PB_TRACE(sched_process_wait, child.comm, child.pid, child.prio);
  free_task(&child);
}

void take_turn(Cpu* cpu) {
  work_struct work = {do_work};
  handle_interrupt(cpu->number, "timer");
  sched_tick();
  run_timers(ktime_get() / 1000000);
  take_locks(cpu);
  wake_up_process(standin_current() == &cpu->task ? &cpu->worker : &cpu->task);
  schedule();
  process_one_work(&work);
  call_the_system();
  if (cpu->turns++ % 128 == 0) do_rare_things(cpu);
}

void add(timespec* time, long nanoseconds) {
  time->tv_nsec += nanoseconds;
  time->tv_sec += time->tv_nsec / 1000000000;
  time->tv_nsec %= 1000000000;
}

// One turn a period; periods that were missed are not made up for.
void run_cpu(int number, Pace pace) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(unsigned(number), &only);
  sched_setaffinity(0, sizeof(only), &only);
  Cpu cpu;
  cpu.number = number;
  name_task(&cpu.task, "standin", number, gettid());
  name_task(&cpu.worker, "worker", number, kFirstWorker + number);
  standin_play(&cpu.task, &cpu.worker);
  const unsigned long every = pace.forks ? (pace.rate + pace.forks - 1) / pace.forks : 0;
  for (;;) {
    timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    add(&next, 1000000000 / long(pace.rate));
    take_turn(&cpu);
    if (every && cpu.turns % every == 0) fork_once(&cpu);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, nullptr);
  }
}

struct Start {
  int number = 0;
  Pace pace;
};
Start starts[CPU_SETSIZE];
void* start_routine(void* argument) {
  auto* start = static_cast<Start*>(argument);
  run_cpu(start->number, start->pace);
  return nullptr;
}
void start_cpu(int number, const Pace& pace) {
  starts[number] = {number, pace};
  pthread_t thread;
  if (pthread_create(&thread, nullptr, start_routine, &starts[number]) == 0) pthread_detach(thread);
}

}  // namespace

void run_freely(const Pace& pace) {
  cpu_set_t allowed;
  if (pace.rate == 0 || sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  Pace for_this = pace;
  unsigned forks = pace.forks;  // as many as there are turns, then on the next processor
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(unsigned(cpu), &allowed)) continue;
    for_this.forks = forks < pace.rate ? forks : pace.rate;
    forks -= for_this.forks;
    start_cpu(cpu, for_this);
  }
}

}  // namespace standin
