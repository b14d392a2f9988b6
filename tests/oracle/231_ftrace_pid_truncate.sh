# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Opening with O_TRUNC empties the list.
t set_ftrace_pid '7\n'
r set_ftrace_pid
t set_ftrace_pid ''
r set_ftrace_pid
t set_ftrace_pid '8'
r set_ftrace_pid
t set_ftrace_pid 'x\n'
r set_ftrace_pid
w set_ftrace_pid '9\n'
call o set_ftrace_pid t
r set_ftrace_pid
call o set_ftrace_pid r
call mode set_ftrace_pid
