# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# An unquoted word for a string, and for a number.
f=events/sched/sched_switch/filter
w $f 'prev_comm != bash\n'
r $f
last 3 error_log
w $f 'prev_pid != bash\n'
r $f
last 3 error_log
w $f 'prev_comm == sh && prev_pid == 1\n'
r $f
