# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Commands are listed behind the functions.
w set_ftrace_filter 'vfs_fsync:traceoff\n'
r set_ftrace_filter
w set_ftrace_filter 'vfs_mkdir:traceon\n'
r set_ftrace_filter
w set_ftrace_filter 'vfs_fsync:traceoff:3\n'
r set_ftrace_filter
w set_ftrace_filter 'vfs_fstat\n'
r set_ftrace_filter
w set_ftrace_filter 'vfs_fsync:stacktrace\n'
w set_ftrace_filter 'vfs_fsync:stacktrace:5\n'
r set_ftrace_filter
w set_ftrace_filter '!vfs_fsync:stacktrace\n'
w set_ftrace_filter '!vfs_fsync:stacktrace:0\n'
w set_ftrace_filter '!vfs_fsync:traceoff\n'
w set_ftrace_filter '!vfs_fsync:traceoff:0\n'
w set_ftrace_filter '!vfs_mkdir:traceon\n'
r set_ftrace_filter
