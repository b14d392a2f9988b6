# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# What clears a filter, and what does not.
f=events/sched/sched_switch/filter
for text in 0 ' 0 ' '0\n' '0\n\n' '\t0\n' 00 1 none '\n' '  '; do
  put $f 'prev_pid == 7'
  w $f "$text"
  r $f
done
last 3 error_log
