# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Off: a marker is refused.
w tracing_on 0
w trace_marker 'one\n'
w trace_marker_raw 'abcdefgh'
w tracing_on 1
w trace_marker 'two\n'
r trace | tail -n 1
