# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# With ! in front it disables; what is not enabled may be disabled, what does not exist may not.
w set_event 'sched_wakeup\n'
w set_event 'sched_waking\n'
w set_event '!sched_wakeup\n'
enabled
w set_event '!sched_wakeup\n'
w set_event '!nosuch\n'
w set_event '!sched:nosuch\n'
w set_event '!sched:sched_waking'
enabled
