# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Strings that are refused.
f=events/sched/sched_switch/filter
for text in 'prev_comm == 5' 'prev_comm < "a"' 'prev_comm & "a"' 'prev_comm > "a"' \
  "prev_comm == 'ab" \
  'prev_comm == "ab' 'prev_comm == "' "prev_comm == \"ab'" 'prev_comm == "a" "b"' 'prev_comm' \
  'prev_comm ==' 'prev_comm ~ 5' 'prev_comm = "a"' 'prev_comm == -5'; do
  w $f "$text\n"
  r $f
  last 3 error_log
done
