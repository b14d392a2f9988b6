# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Soft mode counts who holds the event, and writes to enable go on.
s=events/initcall/initcall_finish/trigger
t=events/initcall/initcall_start/trigger
e=events/sched/sched_waking/enable
w $s 'enable_event:sched:sched_waking\n'
r $e
w $t 'enable_event:sched:sched_waking\n'
r $e
w $e '1\n'
r $e
enabled
w $s '!enable_event:sched:sched_waking\n'
r $e
w $e '0\n'
r $e
enabled
w $e '1\n'
w $t '!enable_event:sched:sched_waking\n'
r $e
enabled
w $t 'disable_event:sched:sched_waking\n'
r $e
w $t '!disable_event:sched:sched_waking\n'
r $e
w $e '0\n'
r $e
