# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# What the file shows while there is none, and which events have it.
r events/sched/sched_switch/trigger
r events/ftrace/print/trigger
call mode events/sched/sched_switch/trigger
for event in function print raw_data kernel_stack; do
  [ -e events/ftrace/$event/trigger ] && echo $event
done
[ -e events/trigger ] || [ -e events/sched/trigger ] || echo only events
