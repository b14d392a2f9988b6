# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Who may do what.
for file in . events instances options per_cpu per_cpu/cpu0 trace trace_pipe trace_marker \
  trace_marker_raw free_buffer README available_events set_event set_event_pid tracing_on \
  buffer_size_kb \
  buffer_total_size_kb trace_clock trace_options options/markers error_log saved_cmdlines snapshot \
  saved_cmdlines_size timestamp_mode tracing_cpumask current_tracer available_tracers \
  per_cpu/cpu0/trace per_cpu/cpu0/trace_pipe per_cpu/cpu0/trace_pipe_raw per_cpu/cpu0/stats \
  per_cpu/cpu0/buffer_size_kb events/enable events/header_page events/header_event events/sched \
  events/sched/enable events/sched/filter events/sched/sched_switch \
  events/sched/sched_switch/enable \
  events/sched/sched_switch/filter events/sched/sched_switch/format events/sched/sched_switch/id \
  tracing_thresh buffer_percent buffer_subbuf_size_kb printk_formats saved_tgids \
  set_event_notrace_pid per_cpu/cpu0/snapshot per_cpu/cpu0/snapshot_raw; do
  call mode $file
done
