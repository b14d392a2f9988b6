# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A filter that only some events can have.
w events/sched/filter 'common_pid == 0\n'
w events/sched/filter 'prev_pid == 0\n'
r events/sched/sched_switch/filter
r events/sched/sched_wakeup/filter
r events/sched/filter
last 3 error_log
