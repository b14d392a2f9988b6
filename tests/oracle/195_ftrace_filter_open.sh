# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The open file shows what was, until it is closed.
t set_ftrace_filter 'vfs_mkdir\n'
exec 3>set_ftrace_filter
r set_ftrace_filter
w '&3' 'vfs_fsync\n'
r set_ftrace_filter
w '&3' 'vfs_mknod\n'
exec 3>&-
r set_ftrace_filter
