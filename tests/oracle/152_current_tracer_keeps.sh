# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The same tracer again keeps the records.
w trace_marker 'one\n'
w current_tracer nop
r trace | tail -n 1
