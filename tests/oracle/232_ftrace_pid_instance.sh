# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# An instance has its own, and set_event_pid is another list.
mkdir instances/a
w instances/a/set_ftrace_pid '5\n'
w instances/a/set_ftrace_notrace_pid '6\n'
r set_ftrace_pid
r set_ftrace_notrace_pid
r set_event_pid
r instances/a/set_ftrace_pid
r instances/a/set_ftrace_notrace_pid
r instances/a/set_event_pid
call rmdir instances/a
