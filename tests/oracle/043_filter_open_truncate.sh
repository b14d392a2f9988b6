# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# > alone changes nothing.
f=events/sched/sched_switch/filter
put $f 'prev_pid == 7'
call o $f t
r $f
t $f 'prev_pid == 8\n'
r $f
