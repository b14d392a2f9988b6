# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# CPUS{} on numbers.
f=events/sched/sched_wakeup/filter
for text in 'target_cpu & CPUS{0}' 'target_cpu == CPUS{0-1}' 'target_cpu != CPUS{0,1}' \
  'CPU & CPUS{0}' \
  'cpu == CPUS{0}' 'common_cpu & CPUS{0-1}' 'pid & CPUS{1}' 'target_cpu & CPUS{ 0 }'; do
  w $f "$text\n"
  r $f
done
r error_log
