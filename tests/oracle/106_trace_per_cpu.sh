# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# One CPU's trace, cleared by itself.
w trace_marker 'one\n'
r per_cpu/cpu0/trace
r per_cpu/cpu1/trace
call o per_cpu/cpu1/trace t
r trace | tail -n 1
call o per_cpu/cpu0/trace t
r trace
