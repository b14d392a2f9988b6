# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A snapshot at a marker: the buffer is there from the start, the marker is in it.
f=events/ftrace/print/trigger
r snapshot
w $f 'snapshot:2 if buf == "now"\n'
r snapshot
w trace_marker 'one'
w trace_marker 'now'
r snapshot
r trace
r $f
w trace_marker 'two'
w trace_marker 'now'
r snapshot
w trace_marker 'now'
r $f
w $f '!snapshot\n'
r $f
w snapshot '0\n'
r snapshot
