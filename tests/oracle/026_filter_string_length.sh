# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A string may have 255 characters.
f=events/sched/sched_switch/filter
long=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
long=$long$long$long$long
w $f "prev_comm == \"${long#x}\""
r $f
w $f "prev_comm == \"$long\""
last 3 error_log
w $f "prev_comm == \"${long}x\""
last 3 error_log
