# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# What an instance does not have.
mkdir instances/a
for file in available_filter_functions available_filter_functions_addrs enabled_functions \
  touched_functions dyn_ftrace_total_info set_graph_function set_graph_notrace max_graph_depth \
  stack_trace set_ftrace_filter set_ftrace_notrace set_ftrace_pid set_ftrace_notrace_pid \
  current_tracer available_tracers; do
  call o instances/a/$file r
done
rmdir instances/a
