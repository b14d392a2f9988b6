# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# .function by name.
f=events/sched/sched_switch/filter
for text in 'prev_state.function == schedule' 'prev_state.function != schedule' \
  'prev_state.function==schedule && prev_pid == 1'; do
  w $f "$text\n"
  r $f
done
for text in 'prev_state.function < schedule' 'prev_state.function == nosuch' \
  'prev_pid.function == schedule' 'prev_comm.function == schedule' 'prev_state.function == 0' \
  'prev_state.function ~ schedule' 'prev_state.function == "schedule"' 'prev_state.function' \
  'prev_state.functio == schedule' 'nosuch.function == schedule' \
  'prev_state.function & schedule'; do
  w $f "$text\n"
  r $f
  last 3 error_log
done
