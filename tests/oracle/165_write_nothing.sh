# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Writes of no bytes.
for file in tracing_on set_event set_event_pid events/enable events/sched/sched_switch/enable \
  events/sched/sched_switch/filter events/sched/filter trace_options trace_clock current_tracer \
  tracing_cpumask options/markers buffer_size_kb buffer_percent snapshot trace_marker \
  trace_marker_raw \
  saved_cmdlines_size tracing_thresh; do
  w $file ''
done
