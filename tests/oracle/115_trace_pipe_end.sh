# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# When tracing is off and something was read, it ends.
w trace_marker 'one\n'
w tracing_on 0
p trace_pipe
p trace_pipe
