# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# > replaces, >> adds; an open with O_TRUNC empties at close.
t set_ftrace_filter 'vfs_fsync\n'
r set_ftrace_filter
w set_ftrace_filter 'vfs_mkdir\n'
r set_ftrace_filter
t set_ftrace_filter 'vfs_mknod\n'
r set_ftrace_filter
call o set_ftrace_filter w
r set_ftrace_filter
call o set_ftrace_filter t
r set_ftrace_filter
t set_ftrace_filter 'vfs_fsync\n'
t set_ftrace_filter '\n'
r set_ftrace_filter
t set_ftrace_filter 'vfs_fsync\n'
t set_ftrace_filter ''
r set_ftrace_filter
