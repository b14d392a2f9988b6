# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Writes of a page and of a megabyte to files that take a word.
for file in set_event set_event_pid tracing_on trace_options trace_clock current_tracer \
  tracing_cpumask \
  events/enable events/sched/sched_switch/enable events/sched/sched_switch/filter \
  events/sched/filter \
  options/markers buffer_size_kb buffer_percent snapshot; do
  call fill $file 4095
  call fill $file 4096
  call fill $file 1048576
done
