# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# > does not remove them.
w set_ftrace_filter 'vfs_fsync:traceoff\n'
t set_ftrace_filter 'vfs_mkdir:traceon:2\n'
r set_ftrace_filter
t set_ftrace_filter 'vfs_mknod\n'
r set_ftrace_filter
t set_ftrace_filter '\n'
r set_ftrace_filter
w set_ftrace_filter '!vfs_fsync:traceoff\n'
w set_ftrace_filter '!vfs_mkdir:traceon:0\n'
r set_ftrace_filter
