# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A long command is cut.
f=events/sched/sched_switch/filter
text='prev_pid == 1'
for n in 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
  text="$text || prev_pid == 100000$n"
done
w $f "$text || nosuch == 1\n"
r error_log
