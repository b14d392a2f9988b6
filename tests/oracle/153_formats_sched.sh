# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
for event in sched_switch sched_waking sched_wakeup sched_wakeup_new sched_process_fork \
  sched_process_exec sched_process_exit sched_process_wait sched_process_free sched_migrate_task \
  sched_stat_runtime; do
  r events/sched/$event/format
done
