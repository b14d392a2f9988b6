# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# > empties the list before the text is looked at.
put set_event_pid 100
t set_event_pid 'x\n'
r set_event_pid
