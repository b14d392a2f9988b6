# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# An event by its name, with and without its system; reading gives system:event.
w set_event 'sched_wakeup\n'
enabled
w set_event 'sched:sched_waking\n'
enabled
w set_event 'sched:sched_waking\n'
enabled
r events/sched/sched_waking/enable
