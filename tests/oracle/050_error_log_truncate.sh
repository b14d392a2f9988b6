# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# > clears, >> and text do not.
f=events/sched/sched_switch/filter
r error_log
w $f 'nosuch == 1\n'
r error_log
w error_log 'hello\n'
r error_log
t error_log 'hello\n'
r error_log
