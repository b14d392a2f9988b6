# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# > disables everything first, >> keeps.
w set_event 'sched_wakeup\n'
t set_event 'sched_waking\n'
enabled
call o set_event t
enabled
w set_event 'sched_waking\n'
t set_event 'nosuch\n'
enabled
