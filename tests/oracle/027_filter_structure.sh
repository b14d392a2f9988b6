# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# && before ||, parentheses, negation.
f=events/sched/sched_switch/filter
for text in 'prev_pid == 1 && next_pid == 2' 'prev_pid == 1||next_pid == 2&&next_prio == 3' \
  '(prev_pid == 1)' '((prev_pid == 1))' '(prev_pid == 1 || next_pid == 2) && next_prio == 3' \
  '!(prev_pid == 1)' '!prev_pid == 1' '!!(prev_pid == 1)' '!(!(prev_pid == 1) && !next_pid == 2)' \
  '( prev_pid == 1 )&&( next_pid == 2 )' 'prev_pid==1&&next_pid==2||next_prio==3'; do
  w $f "$text\n"
  r $f
done
r error_log
