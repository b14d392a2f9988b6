# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# enable_hist and disable_hist; O_TRUNC drops them, and no others.
f=events/initcall/initcall_start/trigger
w $f 'enable_hist:sched:sched_waking\n'
w $f 'disable_hist:sched:sched_waking:3\n'
w $f 'enable_event:sched:sched_waking\n'
w $f 'disable_hist:sched:sched_switch:3 if func == 9\n'
w $f 'traceoff\n'
r $f
r events/sched/sched_waking/enable
r events/sched/sched_switch/enable
w $f '!disable_hist:sched:sched_waking\n'
r $f
r events/sched/sched_waking/enable
t $f 'stacktrace\n'
r $f
r events/sched/sched_switch/enable
call o $f t
r $f
w $f '!enable_event:sched:sched_waking\n'
w $f '!traceoff\n'
w $f '!stacktrace\n'
r $f
r events/sched/sched_waking/enable
