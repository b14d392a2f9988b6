# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Bytes that are no text.
for file in set_event set_event_pid tracing_on trace_options trace_clock current_tracer \
  tracing_cpumask \
  events/sched/sched_switch/enable events/sched/sched_switch/filter options/markers buffer_size_kb \
  snapshot; do
  w $file '\xff\xfe\x01\x02'
  w $file '\x00'
  w $file '1\x001'
done
