# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A marker switches events; counts go down where something changes.
f=events/ftrace/print/trigger
e=events/initcall/initcall_start/enable
w $f 'enable_event:initcall:initcall_start:2 if buf ~ "on*"\n'
r $e
w trace_marker 'off'
r $e
w trace_marker 'on'
r $e
r $f
w trace_marker 'on'
r $f
w $e '0\n'
w trace_marker 'on'
r $e
r $f
w $e '0\n'
w trace_marker 'on'
r $e
r $f
w $f '!enable_event:initcall:initcall_start\n'
r $e
w $f 'traceon:2\n'
w trace_marker 'x'
r $f
w tracing_on '0\n'
w trace_marker 'x'
r tracing_on
r $f
w $f '!traceon\n'
w tracing_on '1\n'
