# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Open files hold an instance.
for file in trace trace_pipe set_event set_event_pid set_event_notrace_pid tracing_on \
  buffer_size_kb \
  current_tracer trace_options trace_clock tracing_cpumask snapshot error_log options/markers \
  per_cpu/cpu0/trace per_cpu/cpu0/stats per_cpu/cpu0/trace_pipe per_cpu/cpu0/trace_pipe_raw \
  per_cpu/cpu0/buffer_size_kb events/enable events/sched/enable events/sched/filter \
  events/sched/sched_switch/enable events/sched/sched_switch/filter buffer_percent \
  buffer_subbuf_size_kb \
  buffer_total_size_kb available_tracers timestamp_mode events/header_page events/header_event \
  per_cpu/cpu0/snapshot; do
  mkdir instances/one
  exec 3<instances/one/$file
  echo "$file"
  call rmdir instances/one
  exec 3<&-
  rmdir instances/one
done
