# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# A synthetic event that an action fires is busy.
E=events/initcall/initcall_finish/trigger
w synthetic_events 'sy u64 a\n'
w synthetic_events 'two u64 a; s32 b\n'
hist_add "$E" 'keys=func:x=func:onmax($x).sy($x)'
w synthetic_events '!sy\n'
w dynamic_events '!s:sy\n'
w dynamic_events '-:synthetic/sy\n'
call o synthetic_events t
r synthetic_events
hist_add "$E" 'keys=func:y=func:onmax($y).sy($y)'
w $E '!hist:keys=func:x=func:onmax($x).sy($x)\n'
w synthetic_events '!sy\n'
hist_clean "$E"
w synthetic_events '!sy\n'
w synthetic_events '!two\n'
hist_add "$E" 'keys=func:x=func:onmax($x).sy($x)'
hist_clean "$E"
