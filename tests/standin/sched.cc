// SPDX-License-Identifier: MIT
//
// The scheduler, timers and locks of the stand-in kernel.
#include "kernel.h"

#include <patchbay/static_event_abi.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "kernel_events.h"

// The agent's, when there is one in the process.
extern "C" __attribute__((weak)) void patchbay_set_current(uint32_t pid, const char* comm);
extern "C" __attribute__((weak)) void patchbay_task_forked(uint32_t parent, uint32_t child);
extern "C" __attribute__((weak)) void patchbay_task_exited(uint32_t pid);

namespace {

thread_local task_struct* current;
thread_local task_struct* runs_next;
thread_local unsigned long turn;
thread_local timer_list tick_timer;

constexpr unsigned kGfpKernel = 0xcc0;
constexpr long kRunning = 0, kInterruptible = 1, kZombie = 0x20;

unsigned long nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ul + now.tv_nsec;
}

void timer_function(timer_list* timer) { timer->expires++; }

inline long state_of_leaving(const task_struct* task) {
  switch (task->leaves) {
    case standin_sleeps: return kInterruptible;
    case standin_runs_on: return kRunning;
    case standin_is_dead: return kZombie;
    case standin_takes_turns: break;
  }
  return turn % 2 ? kInterruptible : kRunning;
}

}  // namespace

extern "C" {

task_struct* standin_current() { return current; }

void standin_play(task_struct* task, task_struct* next) {
  current = task;
  runs_next = next;
  if (patchbay_set_current) patchbay_set_current(uint32_t(task->pid), task->comm);
}

void standin_rename(task_struct* task, const char* comm) {
  snprintf(task->comm, sizeof(task->comm), "%s", comm);
  if (task == current) standin_play(task, runs_next);
}

// The two tasks of this CPU change places. The events come in the order of a kernel: still in the
// name of the task that leaves.
STANDIN_FUNCTION void schedule() {
  task_struct* prev = current;
  task_struct* next = runs_next;
  if (!prev || !next) return;
  if (prev->pid) PB_TRACE(sched_stat_runtime, prev->comm, prev->pid, 1000000 + turn % 1000);
  const long state = state_of_leaving(prev);
  turn++;
  PB_TRACE(sched_switch, prev->comm, prev->pid, prev->prio, state, next->comm, next->pid,
           next->prio);
  standin_play(next, prev);
}

STANDIN_FUNCTION long schedule_timeout(long timeout) {
  schedule();
  return timeout > 0 ? timeout - 1 : 0;
}
STANDIN_FUNCTION void preempt_schedule() { schedule(); }

STANDIN_FUNCTION unsigned long sched_clock() { return nanoseconds(); }
STANDIN_FUNCTION unsigned long ktime_get() { return nanoseconds(); }
STANDIN_FUNCTION void sched_clock_tick() { (void)sched_clock(); }
STANDIN_FUNCTION void rcu_sched_clock_irq(int user) {
  PB_TRACE(rcu_utilization, user ? "Start scheduler-tick" : "End scheduler-tick");
}
STANDIN_FUNCTION void scheduler_tick() {
  sched_clock_tick();
  rcu_sched_clock_irq(int(turn % 2));
}
STANDIN_FUNCTION void sched_tick() { scheduler_tick(); }
STANDIN_FUNCTION int sched_rt_period_timer(timer_list* timer) { return timer->expires != 0; }

STANDIN_FUNCTION int try_to_wake_up(task_struct* task, unsigned state, int flags) {
  asm volatile("" : : "r"(state), "r"(flags));
  PB_TRACE(sched_waking, task->comm, task->pid, task->prio, task->cpu);
  PB_TRACE(sched_wakeup, task->comm, task->pid, task->prio, task->cpu);
  return 1;
}
STANDIN_FUNCTION int wake_up_process(task_struct* task) { return try_to_wake_up(task, 3, 0); }

// A fork, with all that tools know of it. Long enough for probes at any offset below 300.
STANDIN_FUNCTION pid_t kernel_clone(kernel_clone_args* args) {
  task_struct* parent = args->parent;
  task_struct* child = args->child;
  void* memory = kmem_cache_alloc(&task_cache, kGfpKernel);
  void* stack = __kmalloc(sizeof(task_struct), kGfpKernel);
  PB_TRACE(task_newtask, child->pid, child->comm, args->flags, 0);
  PB_TRACE(sched_process_fork, parent->comm, parent->pid, child->comm, child->pid);
  if (patchbay_task_forked) patchbay_task_forked(uint32_t(parent->pid), uint32_t(child->pid));
  PB_TRACE(sched_wakeup_new, child->comm, child->pid, child->prio, child->cpu);
  kfree(stack);
  kmem_cache_free(&task_cache, memory);
  // What a compiler cannot leave out: some bytes of code.
  unsigned long mixed = args->flags;
#define STANDIN_MIX(n) \
  mixed = mixed * 0x9e3779b97f4a7c15ul + n; \
  asm volatile("" : "+r"(mixed));
  STANDIN_MIX(1)
  STANDIN_MIX(2)
  STANDIN_MIX(3)
  STANDIN_MIX(4)
  STANDIN_MIX(5)
  STANDIN_MIX(6)
  STANDIN_MIX(7)
  STANDIN_MIX(8)
  STANDIN_MIX(9)
  STANDIN_MIX(10)
  STANDIN_MIX(11)
  STANDIN_MIX(12)
  STANDIN_MIX(13)
#undef STANDIN_MIX
  return child->pid;
}

STANDIN_FUNCTION void free_task(task_struct* task) {
  PB_TRACE(sched_process_free, task->comm, task->pid, task->prio);
  kmem_cache_free(&task_cache, task);
}

// Returns here: it is the stand-in's thread that goes on.
STANDIN_FUNCTION void do_exit(long code) {
  asm volatile("" : : "r"(code));
  task_struct* task = current;
  if (!task) return;
  PB_TRACE(sched_process_exit, task->comm, task->pid, task->prio);
  if (patchbay_task_exited) patchbay_task_exited(uint32_t(task->pid));
}

STANDIN_FUNCTION void run_timers(unsigned long now) {
  timer_list* timer = &tick_timer;
  timer->function = timer_function;
  void* function = reinterpret_cast<void*>(timer->function);
  PB_TRACE(timer_cancel, timer);
  PB_TRACE(timer_expire_entry, timer, now, function, now);
  timer->function(timer);
  PB_TRACE(timer_start, timer, function, now + 1, now + 1, now, 0x00400000);
  PB_TRACE(hrtimer_cancel, timer);
  PB_TRACE(hrtimer_start, timer, function, s64(now), s64(now), HRTIMER_MODE_ABS, false);
}

STANDIN_FUNCTION void handle_interrupt(int irq, const char* name) {
  PB_TRACE(irq_handler_entry, irq, name);
  PB_TRACE(irq_handler_exit, irq, 1);
  PB_TRACE(softirq_raise, 1);
  PB_TRACE(softirq_entry, 1);
  PB_TRACE(softirq_exit, 1);
}

STANDIN_FUNCTION void process_one_work(work_struct* work) {
  PB_TRACE(workqueue_execute_start, work, reinterpret_cast<void*>(work->func));
  work->func(work);
}

STANDIN_FUNCTION void rcu_read_lock() { asm volatile(""); }
STANDIN_FUNCTION void rcu_read_unlock() { asm volatile(""); }
STANDIN_FUNCTION void mutex_lock(mutex* lock) { lock->owner = 1; }
STANDIN_FUNCTION void mutex_unlock(mutex* lock) { lock->owner = 0; }
STANDIN_FUNCTION int mutex_trylock(mutex* lock) { return lock->owner == 0; }
STANDIN_FUNCTION void _raw_spin_lock(raw_spinlock_t* lock) { lock->value = 1; }
STANDIN_FUNCTION void _raw_spin_unlock(raw_spinlock_t* lock) { lock->value = 0; }
STANDIN_FUNCTION void console_lock() { asm volatile(""); }
STANDIN_FUNCTION void console_unlock() { asm volatile(""); }
STANDIN_FUNCTION void cpus_read_lock() { asm volatile(""); }
STANDIN_FUNCTION void cpus_read_unlock() { asm volatile(""); }
STANDIN_FUNCTION int locks_lock_inode_wait(inode* inode, void* lock) {
  asm volatile("" : : "r"(inode), "r"(lock));
  return 0;
}

}  // extern "C"
