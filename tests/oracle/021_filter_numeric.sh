# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The operators, read back as written.
f=events/sched/sched_switch/filter
r $f
for text in 'prev_pid == 5' 'prev_pid==5' 'prev_pid != 5' 'prev_pid < 5' 'prev_pid <= 5' \
  'prev_pid > 5' 'prev_pid >= 5' 'prev_pid & 5' 'prev_pid   ==   5' 'prev_state == 0x10' \
  'prev_state == 010' 'prev_pid == -1' 'prev_pid == 9999999999' \
  'prev_state == 9223372036854775807' 'prev_state == -9223372036854775808' 'prev_pid == 0' \
  'common_type == 3' 'common_pid == 0' 'common_flags & 1' 'common_preempt_count > 4'; do
  w $f "$text\n"
  r $f
done
r error_log
