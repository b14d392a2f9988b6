# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# One CPU's pipe.
w trace_marker 'one\n'
p per_cpu/cpu1/trace_pipe
p per_cpu/cpu0/trace_pipe
p trace_pipe
