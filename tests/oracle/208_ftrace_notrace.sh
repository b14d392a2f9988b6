# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The same for what is left out.
w set_ftrace_notrace 'vfs_mk*\n'
r set_ftrace_notrace
r set_ftrace_filter
w set_ftrace_notrace '!vfs_mkdir\n'
r set_ftrace_notrace
w set_ftrace_notrace 'nosuchfunction\n'
t set_ftrace_notrace 'vfs_fsync vfs_mkdir\n'
r set_ftrace_notrace
echo vfs_fsync vfs_mkdir >>set_ftrace_notrace
r set_ftrace_notrace
w set_ftrace_notrace ':mod:nosuchmodule\n'
r set_ftrace_notrace
t set_ftrace_notrace '\n'
r set_ftrace_notrace
w set_ftrace_notrace '*:mod:nosuchmodule\n'
r set_ftrace_notrace
r set_ftrace_filter
t set_ftrace_notrace '\n'
