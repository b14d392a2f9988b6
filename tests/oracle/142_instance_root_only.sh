# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Files that only the root has.
mkdir instances/one
for file in README available_events saved_cmdlines saved_cmdlines_size saved_tgids tracing_thresh \
  printk_formats instances; do
  call o instances/one/$file r
done
for file in trace trace_pipe set_event events per_cpu options trace_marker free_buffer snapshot \
  error_log available_tracers events/header_page; do
  call mode instances/one/$file
done
