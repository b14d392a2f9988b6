# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# trace does not consume, trace_pipe does.
w trace_marker 'one\n'
w trace_marker 'two\n'
r trace
p trace_pipe
r trace
p trace_pipe
