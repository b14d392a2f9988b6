# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Blanks around and inside, as they are read back.
f=events/sched/sched_switch/filter
for text in '  prev_pid == 5' 'prev_pid == 5  ' '\tprev_pid\t==\t5\t' 'prev_pid ==\n5' \
  'prev_pid == 5\n\n' '\nprev_pid == 5' 'prev_pid == 5 \n \n'; do
  w $f "$text"
  r $f
done
r error_log
