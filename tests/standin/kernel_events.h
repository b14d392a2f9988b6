/* SPDX-License-Identifier: MIT
 *
 * The static events of the stand-in kernel: names, fields and texts are those that a Linux 6.12
 * shows in its format files (tests/oracle compares them with a recording of one), so that what is
 * written for that kernel's events runs on these. Only the names of the allocator's flags are few.
 */
#ifndef STANDIN_KERNEL_EVENTS_H
#define STANDIN_KERNEL_EVENTS_H

#include <patchbay/trace_event.h>
#include <sys/types.h>

#undef errno /* is a field here */

typedef uint64_t u64;
typedef int64_t s64;
typedef int (*initcall_t)(void);
enum hrtimer_mode : unsigned { HRTIMER_MODE_ABS, HRTIMER_MODE_REL, HRTIMER_MODE_ABS_PINNED };

/* A system call's argument: shown with its own type, recorded as the register that held it. */
#define STANDIN_REGISTER(type, name) (pb_i_fixed, unsigned long, pb_f_##name, #type, #name, 0)
#define STANDIN_U(name) ((unsigned long)(REC->name))
#define STANDIN_SYS_EXIT(call)                                             \
  PB_TRACE_EVENT(syscalls, sys_exit_##call,                                \
                 PB_FIELDS(PB_FIELD(int, __syscall_nr), PB_FIELD(long, ret)), \
                 PB_PRINT("0x%lx", REC->ret))

#define STANDIN_WAKEUP(name)                                                       \
  PB_TRACE_EVENT(sched, name,                                                      \
                 PB_FIELDS(PB_ARRAY(char, comm, 16), PB_FIELD(pid_t, pid),         \
                           PB_FIELD(int, prio), PB_FIELD(int, target_cpu)),        \
                 PB_PRINT("comm=%s pid=%d prio=%d target_cpu=%03d", REC->comm, REC->pid, \
                          REC->prio, REC->target_cpu))

#define STANDIN_TASK_END(name)                                                  \
  PB_TRACE_EVENT(sched, name,                                                   \
                 PB_FIELDS(PB_ARRAY(char, comm, 16), PB_FIELD(pid_t, pid),      \
                           PB_FIELD(int, prio)),                                \
                 PB_PRINT("comm=%s pid=%d prio=%d", REC->comm, REC->pid, REC->prio))

#define STANDIN_SOFTIRQ(vec)                                                                  \
  __print_symbolic(vec, { 0, "HI" }, { 1, "TIMER" }, { 2, "NET_TX" }, { 3, "NET_RX" },          \
                   { 4, "BLOCK" }, { 5, "IRQ_POLL" }, { 6, "TASKLET" }, { 7, "SCHED" },         \
                   { 8, "HRTIMER" }, { 9, "RCU" })
#define STANDIN_SOFTIRQ_EVENT(name)                              \
  PB_TRACE_EVENT(irq, name, PB_FIELDS(PB_FIELD(unsigned int, vec)), \
                 PB_PRINT("vec=%u [action=%s]", REC->vec, STANDIN_SOFTIRQ(REC->vec)))

#define STANDIN_STATES                                                                            \
  (((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | \
     0x00000040) + 1) << 1)
#define STANDIN_GFP(flags)                                                              \
  __print_flags(flags, "|", { 0xcc0, "GFP_KERNEL" }, { 0x820, "GFP_ATOMIC" },           \
                { 0x400000, "__GFP_ACCOUNT" }, { 0x100, "__GFP_ZERO" })

PB_TRACE_EVENT(sched, sched_switch,
    PB_FIELDS(PB_ARRAY(char, prev_comm, 16), PB_FIELD(pid_t, prev_pid),
              PB_FIELD(int, prev_prio), PB_FIELD(long, prev_state), PB_ARRAY(char, next_comm, 16),
              PB_FIELD(pid_t, next_pid), PB_FIELD(int, next_prio)),
    PB_PRINT("prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d \
next_prio=%d",
             REC->prev_comm, REC->prev_pid, REC->prev_prio,
             (REC->prev_state & (STANDIN_STATES - 1)) ? __print_flags(REC->prev_state & \
(STANDIN_STATES - 1), "|",
             { 0x00000001, "S" }, { 0x00000002, "D" }, { 0x00000004, "T" }, { 0x00000008, "t" },
             { 0x00000010, "X" }, { 0x00000020, "Z" }, { 0x00000040, "P" },
             { 0x00000080, "I" }) : "R", REC->prev_state & STANDIN_STATES ? "+" : "",
             REC->next_comm, REC->next_pid, REC->next_prio));

STANDIN_WAKEUP(sched_waking);
STANDIN_WAKEUP(sched_wakeup);
STANDIN_WAKEUP(sched_wakeup_new);

PB_TRACE_EVENT(sched, sched_process_fork,
    PB_FIELDS(PB_ARRAY(char, parent_comm, 16), PB_FIELD(pid_t, parent_pid),
              PB_ARRAY(char, child_comm, 16), PB_FIELD(pid_t, child_pid)),
    PB_PRINT("comm=%s pid=%d child_comm=%s child_pid=%d", REC->parent_comm,
             REC->parent_pid, REC->child_comm, REC->child_pid));

PB_TRACE_EVENT(sched, sched_process_exec,
    PB_FIELDS(PB_STRING(filename), PB_FIELD(pid_t, pid), PB_FIELD(pid_t, old_pid)),
    PB_PRINT("filename=%s pid=%d old_pid=%d", __get_str(filename), REC->pid,
             REC->old_pid));

STANDIN_TASK_END(sched_process_exit);
STANDIN_TASK_END(sched_process_wait);
STANDIN_TASK_END(sched_process_free);

PB_TRACE_EVENT(sched, sched_migrate_task,
    PB_FIELDS(PB_ARRAY(char, comm, 16), PB_FIELD(pid_t, pid), PB_FIELD(int, prio),
              PB_FIELD(int, orig_cpu), PB_FIELD(int, dest_cpu)),
    PB_PRINT("comm=%s pid=%d prio=%d orig_cpu=%d dest_cpu=%d", REC->comm, REC->pid,
             REC->prio, REC->orig_cpu, REC->dest_cpu));

PB_TRACE_EVENT(sched, sched_stat_runtime,
    PB_FIELDS(PB_ARRAY(char, comm, 16), PB_FIELD(pid_t, pid), PB_FIELD(u64, runtime)),
    PB_PRINT("comm=%s pid=%d runtime=%Lu [ns]", REC->comm, REC->pid,
             (unsigned long long)REC->runtime));

PB_TRACE_EVENT(task, task_newtask,
    PB_FIELDS(PB_FIELD(pid_t, pid), PB_ARRAY(char, comm, 16),
              PB_FIELD(unsigned long, clone_flags), PB_FIELD(short, oom_score_adj)),
    PB_PRINT("pid=%d comm=%s clone_flags=%lx oom_score_adj=%hd", REC->pid, REC->comm,
             REC->clone_flags, REC->oom_score_adj));

PB_TRACE_EVENT(task, task_rename,
    PB_FIELDS(PB_FIELD(pid_t, pid), PB_ARRAY(char, oldcomm, 16),
              PB_ARRAY(char, newcomm, 16), PB_FIELD(short, oom_score_adj)),
    PB_PRINT("pid=%d oldcomm=%s newcomm=%s oom_score_adj=%hd", REC->pid, REC->oldcomm,
             REC->newcomm, REC->oom_score_adj));

PB_TRACE_EVENT(signal, signal_generate,
    PB_FIELDS(PB_FIELD(int, sig), PB_FIELD(int, errno), PB_FIELD(int, code),
              PB_ARRAY(char, comm, 16), PB_FIELD(pid_t, pid), PB_FIELD(int, group),
              PB_FIELD(int, result)),
    PB_PRINT("sig=%d errno=%d code=%d comm=%s pid=%d grp=%d res=%d", REC->sig, REC->errno,
             REC->code, REC->comm, REC->pid, REC->group, REC->result));

PB_TRACE_EVENT(signal, signal_deliver,
    PB_FIELDS(PB_FIELD(int, sig), PB_FIELD(int, errno), PB_FIELD(int, code),
              PB_FIELD(unsigned long, sa_handler), PB_FIELD(unsigned long, sa_flags)),
    PB_PRINT("sig=%d errno=%d code=%d sa_handler=%lx sa_flags=%lx", REC->sig, REC->errno,
             REC->code, REC->sa_handler, REC->sa_flags));

PB_TRACE_EVENT(irq, irq_handler_entry,
    PB_FIELDS(PB_FIELD(int, irq), PB_STRING(name)),
    PB_PRINT("irq=%d name=%s", REC->irq, __get_str(name)));

PB_TRACE_EVENT(irq, irq_handler_exit,
    PB_FIELDS(PB_FIELD(int, irq), PB_FIELD(int, ret)),
    PB_PRINT("irq=%d ret=%s", REC->irq, REC->ret ? "handled" : "unhandled"));

STANDIN_SOFTIRQ_EVENT(softirq_entry);
STANDIN_SOFTIRQ_EVENT(softirq_exit);
STANDIN_SOFTIRQ_EVENT(softirq_raise);

PB_TRACE_EVENT(timer, timer_start,
    PB_FIELDS(PB_FIELD(void *, timer), PB_FIELD(void *, function),
              PB_FIELD(unsigned long, expires), PB_FIELD(unsigned long, bucket_expiry),
              PB_FIELD(unsigned long, now), PB_FIELD(unsigned int, flags)),
    PB_PRINT("timer=%p function=%ps expires=%lu [timeout=%ld] bucket_expiry=%lu cpu=%u idx=%u \
flags=%s",
             REC->timer, REC->function, REC->expires, (long)REC->expires - REC->now,
             REC->bucket_expiry, REC->flags & 0x0003FFFF, REC->flags >> 22,
             __print_flags(REC->flags & (0x00040000 | 0x00080000 | 0x00100000 | 0x00200000), "|",
             { 0x00040000, "M" }, { 0x00080000, "D" }, { 0x00100000, "P" }, { 0x00200000, "I" })));

PB_TRACE_EVENT(timer, timer_cancel,
    PB_FIELDS(PB_FIELD(void *, timer)),
    PB_PRINT("timer=%p", REC->timer));

PB_TRACE_EVENT(timer, timer_expire_entry,
    PB_FIELDS(PB_FIELD(void *, timer), PB_FIELD(unsigned long, now),
              PB_FIELD(void *, function), PB_FIELD(unsigned long, baseclk)),
    PB_PRINT("timer=%p function=%ps now=%lu baseclk=%lu", REC->timer, REC->function,
             REC->now, REC->baseclk));

PB_TRACE_EVENT(timer, hrtimer_start,
    PB_FIELDS(PB_FIELD(void *, hrtimer), PB_FIELD(void *, function),
              PB_FIELD(s64, expires), PB_FIELD(s64, softexpires), PB_FIELD(enum hrtimer_mode, mode),
              PB_FIELD(bool, was_armed)),
    PB_PRINT("hrtimer=%p function=%ps expires=%llu softexpires=%llu mode=%s was_armed=%d",
             REC->hrtimer, REC->function, (unsigned long long) REC->expires,
             (unsigned long long) REC->softexpires, __print_symbolic(REC->mode,
             { HRTIMER_MODE_ABS, "ABS" }, { HRTIMER_MODE_REL, "REL" },
             { HRTIMER_MODE_ABS_PINNED, "ABS|PINNED" }, { HRTIMER_MODE_REL_PINNED, "REL|PINNED" },
             { HRTIMER_MODE_ABS_SOFT, "ABS|SOFT" }, { HRTIMER_MODE_REL_SOFT, "REL|SOFT" },
             { HRTIMER_MODE_ABS_PINNED_SOFT, "ABS|PINNED|SOFT" },
             { HRTIMER_MODE_REL_PINNED_SOFT, "REL|PINNED|SOFT" },
             { HRTIMER_MODE_ABS_HARD, "ABS|HARD" }, { HRTIMER_MODE_REL_HARD, "REL|HARD" },
             { HRTIMER_MODE_ABS_PINNED_HARD, "ABS|PINNED|HARD" },
             { HRTIMER_MODE_REL_PINNED_HARD, "REL|PINNED|HARD" }), REC->was_armed));

PB_TRACE_EVENT(timer, hrtimer_cancel,
    PB_FIELDS(PB_FIELD(void *, hrtimer)),
    PB_PRINT("hrtimer=%p", REC->hrtimer));

PB_TRACE_EVENT(kmem, kmalloc,
    PB_FIELDS(PB_FIELD(unsigned long, call_site), PB_FIELD(const void *, ptr),
              PB_FIELD(size_t, bytes_req), PB_FIELD(size_t, bytes_alloc),
              PB_FIELD(unsigned long, gfp_flags), PB_FIELD(int, node)),
    PB_PRINT("call_site=%pS ptr=%p bytes_req=%zu bytes_alloc=%zu gfp_flags=%s node=%d accounted=%s",
             (void *)REC->call_site, REC->ptr, REC->bytes_req, REC->bytes_alloc,
             (REC->gfp_flags) ? STANDIN_GFP(REC->gfp_flags) : "none", REC->node,
             (REC->gfp_flags & 0x400000) ? "true" : "false"));

PB_TRACE_EVENT(kmem, kfree,
    PB_FIELDS(PB_FIELD(unsigned long, call_site), PB_FIELD(const void *, ptr)),
    PB_PRINT("call_site=%pS ptr=%p", (void *)REC->call_site, REC->ptr));

PB_TRACE_EVENT(kmem, kmem_cache_alloc,
    PB_FIELDS(PB_FIELD(unsigned long, call_site), PB_FIELD(const void *, ptr),
              PB_FIELD(size_t, bytes_req), PB_FIELD(size_t, bytes_alloc),
              PB_FIELD(unsigned long, gfp_flags), PB_FIELD(int, node), PB_FIELD(bool, accounted)),
    PB_PRINT("call_site=%pS ptr=%p bytes_req=%zu bytes_alloc=%zu gfp_flags=%s node=%d accounted=%s",
             (void *)REC->call_site, REC->ptr, REC->bytes_req, REC->bytes_alloc,
             (REC->gfp_flags) ? STANDIN_GFP(REC->gfp_flags) : "none", REC->node,
             REC->accounted ? "true" : "false"));

PB_TRACE_EVENT(kmem, kmem_cache_free,
    PB_FIELDS(PB_FIELD(unsigned long, call_site), PB_FIELD(const void *, ptr),
              PB_STRING(name)),
    PB_PRINT("call_site=%pS ptr=%p name=%s", (void *)REC->call_site, REC->ptr,
             __get_str(name)));

PB_TRACE_EVENT(raw_syscalls, sys_enter,
    PB_FIELDS(PB_FIELD(long, id), PB_ARRAY(unsigned long, args, 6)),
    PB_PRINT("NR %ld (%lx, %lx, %lx, %lx, %lx, %lx)", REC->id, REC->args[0], REC->args[1],
             REC->args[2], REC->args[3], REC->args[4], REC->args[5]));

PB_TRACE_EVENT(raw_syscalls, sys_exit,
    PB_FIELDS(PB_FIELD(long, id), PB_FIELD(long, ret)),
    PB_PRINT("NR %ld = %ld", REC->id, REC->ret));

PB_TRACE_EVENT(initcall, initcall_start,
    PB_FIELDS(PB_FIELD(initcall_t, func)),
    PB_PRINT("func=%pS", REC->func));

PB_TRACE_EVENT(initcall, initcall_finish,
    PB_FIELDS(PB_FIELD(initcall_t, func), PB_FIELD(int, ret)),
    PB_PRINT("func=%pS ret=%d", REC->func, REC->ret));

PB_TRACE_EVENT(initcall, initcall_level,
    PB_FIELDS(PB_STRING(level)),
    PB_PRINT("level=%s", __get_str(level)));

PB_TRACE_EVENT(rcu, rcu_utilization,
    PB_FIELDS(PB_FIELD(const char *, s)),
    PB_PRINT("%s", REC->s));

PB_TRACE_EVENT(workqueue, workqueue_execute_start,
    PB_FIELDS(PB_FIELD(void *, work), PB_FIELD(void *, function)),
    PB_PRINT("work struct %p: function %ps", REC->work, REC->function));

PB_TRACE_EVENT(module, module_load,
    PB_FIELDS(PB_FIELD(unsigned int, taints), PB_STRING(name)),
    PB_PRINT("%s %s", __get_str(name), __print_flags(REC->taints, "", { (1UL << 0), "P" },
             { (1UL << 12), "O" }, { (1UL << 1), "F" }, { (1UL << 10), "C" },
             { (1UL << 13), "E" })));

PB_TRACE_EVENT(module, module_free,
    PB_FIELDS(PB_STRING(name)),
    PB_PRINT("%s", __get_str(name)));

PB_TRACE_EVENT(syscalls, sys_enter_open,
    PB_FIELDS(PB_FIELD(int, __syscall_nr), STANDIN_REGISTER(const char *, filename),
              STANDIN_REGISTER(int, flags), STANDIN_REGISTER(umode_t, mode)),
    PB_PRINT("filename: 0x%08lx, flags: 0x%08lx, mode: 0x%08lx", STANDIN_U(filename),
             STANDIN_U(flags), STANDIN_U(mode)));

STANDIN_SYS_EXIT(open);

PB_TRACE_EVENT(syscalls, sys_enter_openat,
    PB_FIELDS(PB_FIELD(int, __syscall_nr), STANDIN_REGISTER(int, dfd),
              STANDIN_REGISTER(const char *, filename), STANDIN_REGISTER(int, flags),
              STANDIN_REGISTER(umode_t, mode)),
    PB_PRINT("dfd: 0x%08lx, filename: 0x%08lx, flags: 0x%08lx, mode: 0x%08lx",
             STANDIN_U(dfd), STANDIN_U(filename), STANDIN_U(flags), STANDIN_U(mode)));

STANDIN_SYS_EXIT(openat);

PB_TRACE_EVENT(syscalls, sys_enter_openat2,
    PB_FIELDS(PB_FIELD(int, __syscall_nr), STANDIN_REGISTER(int, dfd),
              STANDIN_REGISTER(const char *, filename), STANDIN_REGISTER(struct open_how *, how),
              STANDIN_REGISTER(size_t, usize)),
    PB_PRINT("dfd: 0x%08lx, filename: 0x%08lx, how: 0x%08lx, usize: 0x%08lx",
             STANDIN_U(dfd), STANDIN_U(filename), STANDIN_U(how), STANDIN_U(usize)));

STANDIN_SYS_EXIT(openat2);

PB_TRACE_EVENT(syscalls, sys_enter_close,
    PB_FIELDS(PB_FIELD(int, __syscall_nr), STANDIN_REGISTER(unsigned int, fd)),
    PB_PRINT("fd: 0x%08lx", STANDIN_U(fd)));

STANDIN_SYS_EXIT(close);

PB_TRACE_EVENT(syscalls, sys_enter_read,
    PB_FIELDS(PB_FIELD(int, __syscall_nr), STANDIN_REGISTER(unsigned int, fd),
              STANDIN_REGISTER(char *, buf), STANDIN_REGISTER(size_t, count)),
    PB_PRINT("fd: 0x%08lx, buf: 0x%08lx, count: 0x%08lx", STANDIN_U(fd), STANDIN_U(buf),
             STANDIN_U(count)));

STANDIN_SYS_EXIT(read);

PB_TRACE_EVENT(syscalls, sys_enter_write,
    PB_FIELDS(PB_FIELD(int, __syscall_nr), STANDIN_REGISTER(unsigned int, fd),
              STANDIN_REGISTER(const char *, buf), STANDIN_REGISTER(size_t, count)),
    PB_PRINT("fd: 0x%08lx, buf: 0x%08lx, count: 0x%08lx", STANDIN_U(fd), STANDIN_U(buf),
             STANDIN_U(count)));

STANDIN_SYS_EXIT(write);

PB_TRACE_EVENT(syscalls, sys_enter_chdir,
    PB_FIELDS(PB_FIELD(int, __syscall_nr), STANDIN_REGISTER(const char *, filename)),
    PB_PRINT("filename: 0x%08lx", STANDIN_U(filename)));

STANDIN_SYS_EXIT(chdir);

PB_TRACE_EVENT(syscalls, sys_enter_getppid,
    PB_FIELDS(PB_FIELD(int, __syscall_nr)),
    PB_PRINT(""));

STANDIN_SYS_EXIT(getppid);

PB_TRACE_EVENT(syscalls, sys_enter_clone,
    PB_FIELDS(PB_FIELD(int, __syscall_nr), STANDIN_REGISTER(unsigned long, clone_flags),
              STANDIN_REGISTER(unsigned long, newsp), STANDIN_REGISTER(int *, parent_tidptr),
              STANDIN_REGISTER(int *, child_tidptr), STANDIN_REGISTER(unsigned long, tls)),
    PB_PRINT("clone_flags: 0x%08lx, newsp: 0x%08lx, parent_tidptr: 0x%08lx, child_tidptr: \
0x%08lx, tls: 0x%08lx",
             STANDIN_U(clone_flags), STANDIN_U(newsp), STANDIN_U(parent_tidptr),
             STANDIN_U(child_tidptr), STANDIN_U(tls)));

STANDIN_SYS_EXIT(clone);

PB_TRACE_EVENT(syscalls, sys_enter_clone3,
    PB_FIELDS(PB_FIELD(int, __syscall_nr), STANDIN_REGISTER(struct clone_args *, uargs),
              STANDIN_REGISTER(size_t, size)),
    PB_PRINT("uargs: 0x%08lx, size: 0x%08lx", STANDIN_U(uargs), STANDIN_U(size)));

STANDIN_SYS_EXIT(clone3);

PB_TRACE_EVENT(syscalls, sys_enter_vfork,
    PB_FIELDS(PB_FIELD(int, __syscall_nr)),
    PB_PRINT(""));

STANDIN_SYS_EXIT(vfork);

PB_TRACE_EVENT(syscalls, sys_enter_execve,
    PB_FIELDS(PB_FIELD(int, __syscall_nr), STANDIN_REGISTER(const char *, filename),
              STANDIN_REGISTER(const char *const *, argv),
              STANDIN_REGISTER(const char *const *, envp)),
    PB_PRINT("filename: 0x%08lx, argv: 0x%08lx, envp: 0x%08lx", STANDIN_U(filename),
             STANDIN_U(argv), STANDIN_U(envp)));

STANDIN_SYS_EXIT(execve);

PB_TRACE_EVENT(syscalls, sys_enter_exit_group,
    PB_FIELDS(PB_FIELD(int, __syscall_nr), STANDIN_REGISTER(int, error_code)),
    PB_PRINT("error_code: 0x%08lx", STANDIN_U(error_code)));

STANDIN_SYS_EXIT(exit_group);

PB_TRACE_EVENT(syscalls, sys_enter_wait4,
    PB_FIELDS(PB_FIELD(int, __syscall_nr), STANDIN_REGISTER(pid_t, upid),
              STANDIN_REGISTER(int *, stat_addr), STANDIN_REGISTER(int, options),
              STANDIN_REGISTER(struct rusage *, ru)),
    PB_PRINT("upid: 0x%08lx, stat_addr: 0x%08lx, options: 0x%08lx, ru: 0x%08lx",
             STANDIN_U(upid), STANDIN_U(stat_addr), STANDIN_U(options), STANDIN_U(ru)));

STANDIN_SYS_EXIT(wait4);

PB_TRACE_EVENT(syscalls, sys_enter_nanosleep,
    PB_FIELDS(PB_FIELD(int, __syscall_nr),
              STANDIN_REGISTER(struct __kernel_timespec *, rqtp),
              STANDIN_REGISTER(struct __kernel_timespec *, rmtp)),
    PB_PRINT("rqtp: 0x%08lx, rmtp: 0x%08lx", STANDIN_U(rqtp), STANDIN_U(rmtp)));

STANDIN_SYS_EXIT(nanosleep);

PB_TRACE_EVENT(syscalls, sys_enter_clock_nanosleep,
    PB_FIELDS(PB_FIELD(int, __syscall_nr), STANDIN_REGISTER(const clockid_t, which_clock),
              STANDIN_REGISTER(int, flags),
              STANDIN_REGISTER(const struct __kernel_timespec *, rqtp),
              STANDIN_REGISTER(struct __kernel_timespec *, rmtp)),
    PB_PRINT("which_clock: 0x%08lx, flags: 0x%08lx, rqtp: 0x%08lx, rmtp: 0x%08lx",
             STANDIN_U(which_clock), STANDIN_U(flags), STANDIN_U(rqtp), STANDIN_U(rmtp)));

STANDIN_SYS_EXIT(clock_nanosleep);

PB_TRACE_EVENT(syscalls, sys_enter_mkdir,
    PB_FIELDS(PB_FIELD(int, __syscall_nr), STANDIN_REGISTER(const char *, pathname),
              STANDIN_REGISTER(umode_t, mode)),
    PB_PRINT("pathname: 0x%08lx, mode: 0x%08lx", STANDIN_U(pathname), STANDIN_U(mode)));

STANDIN_SYS_EXIT(mkdir);

PB_TRACE_EVENT(syscalls, sys_enter_mkdirat,
    PB_FIELDS(PB_FIELD(int, __syscall_nr), STANDIN_REGISTER(int, dfd),
              STANDIN_REGISTER(const char *, pathname), STANDIN_REGISTER(umode_t, mode)),
    PB_PRINT("dfd: 0x%08lx, pathname: 0x%08lx, mode: 0x%08lx", STANDIN_U(dfd),
             STANDIN_U(pathname), STANDIN_U(mode)));

STANDIN_SYS_EXIT(mkdirat);

PB_TRACE_EVENT(syscalls, sys_enter_symlink,
    PB_FIELDS(PB_FIELD(int, __syscall_nr), STANDIN_REGISTER(const char *, oldname),
              STANDIN_REGISTER(const char *, newname)),
    PB_PRINT("oldname: 0x%08lx, newname: 0x%08lx", STANDIN_U(oldname),
             STANDIN_U(newname)));

STANDIN_SYS_EXIT(symlink);

PB_TRACE_EVENT(syscalls, sys_enter_symlinkat,
    PB_FIELDS(PB_FIELD(int, __syscall_nr), STANDIN_REGISTER(const char *, oldname),
              STANDIN_REGISTER(int, newdfd), STANDIN_REGISTER(const char *, newname)),
    PB_PRINT("oldname: 0x%08lx, newdfd: 0x%08lx, newname: 0x%08lx", STANDIN_U(oldname),
             STANDIN_U(newdfd), STANDIN_U(newname)));

STANDIN_SYS_EXIT(symlinkat);

PB_TRACE_EVENT(syscalls, sys_enter_kill,
    PB_FIELDS(PB_FIELD(int, __syscall_nr), STANDIN_REGISTER(pid_t, pid),
              STANDIN_REGISTER(int, sig)),
    PB_PRINT("pid: 0x%08lx, sig: 0x%08lx", STANDIN_U(pid), STANDIN_U(sig)));

STANDIN_SYS_EXIT(kill);

#endif
