# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Each instance has its own, and its own errors; they go with it.
f=events/initcall/initcall_start
mkdir instances/one
w instances/one/$f/trigger 'traceoff:4\n'
w instances/one/$f/trigger 'enable_event:sched:sched_waking if func == 9\n'
w instances/one/$f/trigger 'stacktrace if nosuch == 9\n'
r instances/one/$f/trigger
r $f/trigger
r $f/enable
r instances/one/$f/enable
r instances/one/events/sched/sched_waking/enable
r error_log
r instances/one/error_log
rmdir instances/one && echo removed
r $f/trigger
w $f/trigger 'traceoff\n'
mkdir instances/one
r instances/one/$f/trigger
w instances/one/events/ftrace/print/trigger 'traceoff\n'
w trace_marker 'top\n'
r instances/one/tracing_on
w instances/one/trace_marker 'its own\n'
r instances/one/tracing_on
r tracing_on
w $f/trigger '!traceoff\n'
rmdir instances/one && echo removed
