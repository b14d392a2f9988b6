# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Triggers of ftrace:print: what its filters see of a marker, and that its record stays.
f=events/ftrace/print/trigger
w $f 'traceoff if buf == "end"\n'
r $f
w trace_marker 'begin\n'
w trace_marker 'end\n'
r tracing_on
w trace_marker 'the end'
r tracing_on
w trace_marker 'end'
r tracing_on
w trace_marker 'end'
r trace
w $f '!traceoff\n'
w tracing_on '1\n'
w $f 'traceoff:2\n'
for n in 1 2 3; do
  w trace_marker "again $n\n"
  r tracing_on
  r $f
  w tracing_on '1\n'
done
w $f '!traceon\n'
w $f 'traceoff if buf ~ "*stop*"\n'
w trace_marker 'go on\n'
r tracing_on
w trace_marker 'now stop it\n'
r tracing_on
w $f '!traceon\n'
r $f
