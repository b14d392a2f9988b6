# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Targets are held in soft mode: what their enable files show, and what stays.
f=events/initcall/initcall_finish/trigger
w $f 'enable_event:sched:sched_waking\n'
w $f 'enable_event:sched:sched_waking:3\n'
w $f 'disable_event:sched:sched_waking\n'
w $f 'disable_event:initcall:initcall_start:2 if ret == 1\n'
w $f ' enable_event: initcall:initcall_level:0x3:4\n'
r $f
for e in initcall/initcall_finish sched/sched_waking initcall/initcall_start \
  initcall/initcall_level; do
  r events/$e/enable
done
w $f '!disable_event:sched:sched_waking:9 if nonsense\n'
w $f '!enable_event:initcall:initcall_start\n'
w $f '!enable_event:initcall:initcall_level\n'
for e in initcall/initcall_finish sched/sched_waking initcall/initcall_start \
  initcall/initcall_level; do
  r events/$e/enable
done
r $f
