# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The top file is X when some are on.
r events/enable
put events/sched/sched_waking/enable 1
r events/enable
w events/enable 0
r events/enable
r events/sched/sched_waking/enable
w events/enable 2
r events/sched/enable
