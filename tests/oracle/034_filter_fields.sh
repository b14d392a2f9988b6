# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Fields of all kinds: dynamic text, pointers to text, bool, enum, short, arrays, pointers.
w events/sched/sched_process_exec/filter 'filename ~ "*sh"\n'
r events/sched/sched_process_exec/filter
w events/rcu/rcu_utilization/filter 's == "Start context switch"\n'
r events/rcu/rcu_utilization/filter
w events/kmem/kmem_cache_alloc/filter 'accounted == 1\n'
r events/kmem/kmem_cache_alloc/filter
w events/kmem/kmem_cache_alloc/filter 'bytes_req > 100 && ptr != 0\n'
r events/kmem/kmem_cache_alloc/filter
w events/timer/hrtimer_start/filter 'mode == 1 && expires > -1\n'
r events/timer/hrtimer_start/filter
w events/task/task_rename/filter 'oom_score_adj < -500\n'
r events/task/task_rename/filter
w events/raw_syscalls/sys_enter/filter 'id == 39\n'
r events/raw_syscalls/sys_enter/filter
w events/raw_syscalls/sys_enter/filter 'args == 39\n'
r events/raw_syscalls/sys_enter/filter
w events/raw_syscalls/sys_enter/filter 'args == "x"\n'
r events/raw_syscalls/sys_enter/filter
w events/irq/irq_handler_entry/filter 'name == "timer" || irq == 3\n'
r events/irq/irq_handler_entry/filter
w events/signal/signal_generate/filter 'errno == 0\n'
r events/signal/signal_generate/filter
r error_log
