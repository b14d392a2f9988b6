# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Numbers and operators that are refused.
f=events/sched/sched_switch/filter
for text in 'prev_pid' 'prev_pid 5' 'prev_pid = 5' 'prev_pid ==' 'prev_pid == 1x' \
  'prev_pid == 0x12g' \
  'prev_pid == 09' 'prev_pid == +5' 'prev_pid == --5' 'prev_pid == 123456789012345678901234' \
  'prev_pid == 12345678901234567890123' 'prev_pid == 18446744073709551616' \
  'prev_state == 9223372036854775808' 'prev_pid ~ 5' 'prev_pid === 5' 'prev_pid =! 5' \
  'prev_pid <> 5' 'prev_pid == five' "prev_pid == '5'" 'prev_pid == "a"' 'nosuch == 1' \
  '5 == prev_pid' '== 5' 'prev-pid == 5'; do
  w $f "$text\n"
  r $f
  last 3 error_log
done
