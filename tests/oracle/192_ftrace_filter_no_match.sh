# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Nothing matches: EINVAL; with > the list is empty afterwards.
w set_ftrace_filter 'vfs_fsync\n'
w set_ftrace_filter 'nosuchfunction\n'
r set_ftrace_filter
w set_ftrace_filter 'nosuch*\n'
w set_ftrace_filter 'VFS_FSYNC\n'
w set_ftrace_filter 'vfs_fsync,vfs_mkdir\n'
r set_ftrace_filter
t set_ftrace_filter 'nosuchfunction\n'
r set_ftrace_filter
