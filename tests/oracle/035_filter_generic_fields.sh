# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Fields that every event has besides its own.
f=events/sched/sched_switch/filter
for text in 'CPU == 0' 'cpu == 0' 'common_cpu == 0' 'COMM ~ "s*"' 'comm ~ "s*"' \
  'common_comm ~ "s*"' \
  'stacktrace == 1' 'STACKTRACE == 1' 'common_stacktrace == 1' 'Cpu == 0' 'CPU ~ 0' 'CPU == "0"' \
  'COMM == 5' 'common_nosuch == 1'; do
  w $f "$text\n"
  r $f
done
r error_log
