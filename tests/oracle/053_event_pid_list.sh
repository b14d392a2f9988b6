# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Adding, replacing, reading in order.
r set_event_pid
w set_event_pid '30 10 20\n'
r set_event_pid
w set_event_pid '5\n'
r set_event_pid
t set_event_pid '7\n'
r set_event_pid
w set_event_pid '7 7 7\n'
r set_event_pid
call o set_event_pid t
r set_event_pid
