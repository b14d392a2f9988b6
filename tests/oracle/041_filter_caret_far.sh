# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The caret of a later predicate.
f=events/sched/sched_switch/filter
for text in 'prev_pid == 5 && nosuch == 3' 'prev_pid == 5 && (next_pid == 3 || next_comm == 4)' \
  '((prev_pid >= 10 && prev_pid < 15) || dsig == 17) && prev_pid != 3' \
  'prev_comm == "sh" && prev_pid == 1x'; do
  w $f "$text\n"
  r $f
  last 3 error_log
done
