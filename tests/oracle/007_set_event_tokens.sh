# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# One token a write(2): a short count, the caller writes the rest.
w set_event 'sched_wakeup sched_waking\n'
enabled
w set_event ' sched_waking\n'
enabled
w set_event '\n'
w set_event '   \t \n'
w set_event 'sched_switch'
w set_event '  sched_wakeup_new  \n'
enabled
