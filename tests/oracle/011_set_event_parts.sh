# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A token written in two parts.
exec 3>>set_event
w '&3' 'sched_'
w '&3' 'waking\n'
enabled
w '&3' 'sched_waking'
exec 3>&-
enabled
