# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# At close the buffer shrinks.
w trace_marker 'one\n'
w free_buffer 'x\n'
r buffer_size_kb
r tracing_on
r trace | tail -n 1
