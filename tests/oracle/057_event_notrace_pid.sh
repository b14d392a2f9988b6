# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The other list is another list.
w set_event_pid '1 2\n'
w set_event_notrace_pid '2 3\n'
r set_event_pid
r set_event_notrace_pid
t set_event_pid '\n'
r set_event_pid
r set_event_notrace_pid
w set_event_notrace_pid 'x\n'
r set_event_notrace_pid
r set_event_notrace_pid
