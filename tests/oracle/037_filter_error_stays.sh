# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The text of an error stays until the next command.
f=events/sched/sched_switch/filter
put $f 'prev_pid == 7'
w $f 'nosuch == 1\n'
r $f
r $f
w $f 'prev_pid == 8\n'
r $f
w $f 'nosuch == 1\n'
w $f '0\n'
r $f
