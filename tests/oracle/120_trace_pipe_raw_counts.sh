# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Whole pages, and nothing.
w trace_marker 'one\n'
call n per_cpu/cpu0/trace_pipe_raw 4096
call n per_cpu/cpu1/trace_pipe_raw 4096
call o per_cpu/cpu0/trace_pipe_raw w
