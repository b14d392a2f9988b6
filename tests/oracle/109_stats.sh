# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Counts of one CPU.
w trace_marker 'one\n'
w trace_marker 'two\n'
r per_cpu/cpu0/stats | grep -v -e bytes
p trace_pipe >/dev/null
r per_cpu/cpu0/stats | grep -v -e bytes
w trace_clock 'counter\n'
r per_cpu/cpu0/stats | grep -v -e bytes -e '^oldest' -e '^now'
