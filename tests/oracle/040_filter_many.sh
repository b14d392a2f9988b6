# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Many predicates.
f=events/sched/sched_switch/filter
text='prev_pid == 1'
for n in 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  text="$text || prev_pid == $n"
done
w $f "$text\n"
r $f
nested='prev_pid == 1'
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  nested="($nested)"
done
w $f "$nested\n"
r $f
