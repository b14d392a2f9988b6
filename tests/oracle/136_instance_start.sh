# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# What a new instance starts with.
put set_event sched_wakeup_new
put set_event_pid 77
put events/sched/sched_switch/filter 'prev_pid == 1'
put tracing_on 0
mkdir instances/one
for file in tracing_on current_tracer buffer_size_kb buffer_subbuf_size_kb buffer_percent \
  set_event \
  set_event_pid events/enable events/sched/sched_switch/filter error_log timestamp_mode snapshot \
  trace; do
  r instances/one/$file
done
