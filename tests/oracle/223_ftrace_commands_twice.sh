# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The same again is refused, with and without a count are two.
w set_ftrace_filter 'vfs_fsync:traceoff\n'
w set_ftrace_filter 'vfs_fsync:traceoff\n'
w set_ftrace_filter 'vfs_fsync:traceoff:1\n'
w set_ftrace_filter 'vfs_fsync:traceoff:2\n'
r set_ftrace_filter
w set_ftrace_filter '!vfs_fsync:traceoff:7\n'
r set_ftrace_filter
w set_ftrace_filter '!vfs_fsync:traceoff:0\n'
w set_ftrace_filter '!vfs_fsync:traceoff\n'
w set_ftrace_filter '!vfs_fsync:traceoff\n'
r set_ftrace_filter
