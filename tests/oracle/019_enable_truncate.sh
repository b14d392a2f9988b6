# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# > on an enable file is no command by itself.
put events/sched/sched_waking/enable 1
call o events/sched/sched_waking/enable t
r events/sched/sched_waking/enable
call o events/enable t
enabled
