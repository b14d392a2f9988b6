# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# With the option, reading pauses.
w options/pause-on-trace 1
exec 3<trace
w trace_marker 'one\n'
r tracing_on
exec 3<&-
w trace_marker 'two\n'
r trace | tail -n 1
