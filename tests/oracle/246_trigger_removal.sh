# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Count and filter of what is removed do not matter, and that it is there neither.
f=events/initcall/initcall_finish/trigger
w $f '!traceoff\n'
w $f '!stacktrace:3 if x\n'
w $f '!snapshot\n'
w $f '!enable_event:sched:sched_waking\n'
w $f 'traceoff:3 if ret == 1\n'
w $f '!traceoff if nosuch == 3\n'
r $f
w $f 'stacktrace if ret == 1\n'
w $f '!stacktrace:x\n'
r $f
w $f 'stacktrace\n'
w $f '! stacktrace\n'
w $f '!!stacktrace\n'
r $f
w $f '  !stacktrace\n'
r $f
r error_log
