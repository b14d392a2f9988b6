# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# What holds a synthetic event: enabled, a histogram on it, an action that fires it, a trigger.
E=events/initcall/initcall_finish/trigger
w synthetic_events 'sy u64 a\n'
w synthetic_events 'sy u64 a\n'
w dynamic_events 's:sy u64 a\n'
w events/synthetic/sy/enable 1
w synthetic_events '!sy\n'
w dynamic_events '-:sy\n'
t synthetic_events ''
w events/synthetic/sy/enable 0
put events/synthetic/sy/trigger 'hist:keys=a'
w synthetic_events '!sy\n'
t dynamic_events ''
r synthetic_events
hist_clean events/synthetic/sy/trigger
put events/synthetic/sy/trigger 'traceoff if a == 5'
w synthetic_events '!sy\n'
r synthetic_events
put events/synthetic/sy/trigger '!traceoff'
put synthetic_events 'sy u64 a'
put events/initcall/initcall_start/trigger 'hist:keys=func:f=func'
hist_add $E 'keys=func:onmatch(initcall.initcall_start).sy($f)'
w synthetic_events '!sy\n'
t synthetic_events ''
put $E '!hist:keys=func:onmatch(initcall.initcall_start).sy($f)'
hist_clean $E events/initcall/initcall_start/trigger
put events/synthetic/sy/filter 'a > 5'
w synthetic_events '!sy\n'
r synthetic_events
w synthetic_events '!sy\n'
put events/initcall/initcall_start/trigger 'enable_event:synthetic:sy'
: >error_log
