# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# A histogram of an instance counts that instance's hits only, and goes with it.
mkdir instances/one
w instances/one/events/initcall/initcall_finish/trigger 'hist:keys=ret:x=ret\n'
w events/initcall/initcall_finish/trigger 'hist:keys=ret:x=ret\n'
hist_show instances/one/events/initcall/initcall_finish/trigger
w instances/one/events/initcall/initcall_start/trigger 'hist:keys=func:y=$x\n'
grep -v '^#' instances/one/events/initcall/initcall_start/trigger
w instances/one/events/initcall/initcall_finish/trigger '!hist:keys=ret:x=ret\n'
w events/initcall/initcall_finish/trigger '!hist:keys=ret:x=ret\n'
w synthetic_events 'sy u64 a\n'
w instances/one/events/synthetic/sy/trigger 'hist:keys=a\n'
w synthetic_events '!sy\n'
call rmdir instances/one
ls instances
w synthetic_events '!sy\n'
r synthetic_events
hist_clean events/initcall/initcall_finish/trigger
