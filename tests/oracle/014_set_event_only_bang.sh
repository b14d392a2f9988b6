# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Odd pieces of the grammar.
put set_event sched_waking
w set_event '!\n'
w set_event '! sched_waking\n'
enabled
w set_event '!!sched_waking\n'
w set_event '!:nosuch\n'
w set_event '::\n'
enabled
