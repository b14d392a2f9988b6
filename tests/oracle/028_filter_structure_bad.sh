# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Parentheses and operators in the wrong place.
f=events/sched/sched_switch/filter
for text in 'prev_pid == 5)' '(prev_pid == 5' '((prev_pid == 5)' ')' '(' '()' '(())' '!' '!()' \
  '&&' '||' \
  'prev_pid == 5 &&' 'prev_pid == 5 ||' 'prev_pid == 5 foo' 'prev_pid == 5 & next_pid == 3' \
  'prev_pid == 5 | next_pid == 3' 'prev_pid == 5 && (next_pid == 3' '&& prev_pid == 5' \
  'prev_pid == 5 && ()' '() && prev_pid == 5' 'prev_pid == 5 &&& next_pid == 3' \
  'prev_pid == 5 && && next_pid == 3' 'prev_pid == 5 && !' '(prev_pid == 5) (next_pid == 3)' \
  'prev_pid == 5 next_pid == 3' '(prev_pid) == 5'; do
  w $f "$text\n"
  r $f
  last 3 error_log
done
