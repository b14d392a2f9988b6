# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The errors of an instance are its own.
mkdir instances/one
w instances/one/events/sched/sched_switch/filter 'nosuch == 1\n'
r error_log
r instances/one/error_log
w events/sched/sched_switch/filter 'other == 1\n'
r instances/one/error_log
r error_log
