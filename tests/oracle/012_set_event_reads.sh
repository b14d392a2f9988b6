# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Reading in small pieces, and a list that changes between opens.
put set_event sched_waking
put set_event sched_switch
r set_event 1 | sort
r set_event 7 | sort
