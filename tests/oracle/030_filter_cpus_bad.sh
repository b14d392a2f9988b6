# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# CPUS{} that is refused.
f=events/sched/sched_wakeup/filter
for text in 'pid == CPUS{1' 'pid == CPUS1}' 'pid == CPUS{a}' 'pid < CPUS{1}' 'pid ~ CPUS{1}' \
  'pid == CPUS{}' 'pid == CPUS' 'comm == CPUS{1}' 'pid == CPUS {1}' 'pid == CPUS{99999}' \
  'pid == CPUS{1-0}' 'pid == cpus{0}'; do
  w $f "$text\n"
  r $f
  last 3 error_log
done
