# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A filter on common fields reaches every event of the system.
w events/sched/filter 'common_pid == 0\n'
r events/sched/sched_switch/filter
r events/sched/sched_wakeup/filter
r events/sched/filter
w events/sched/filter '0\n'
r events/sched/sched_switch/filter
r events/sched/sched_wakeup/filter
r error_log
