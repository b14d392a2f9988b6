# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Events of an instance are its own.
mkdir instances/one
mkdir instances/two
w instances/one/events/sched/sched_wakeup_new/enable 1
r instances/one/events/sched/sched_wakeup_new/enable
r instances/one/set_event
r instances/two/events/sched/sched_wakeup_new/enable
r events/sched/sched_wakeup_new/enable
r instances/one/events/enable
call o instances/one/set_event t
r instances/one/events/sched/sched_wakeup_new/enable
w instances/one/events/sched/sched_switch/filter 'prev_pid == 3\n'
r instances/two/events/sched/sched_switch/filter
r events/sched/sched_switch/filter
