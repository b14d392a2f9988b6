# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Commands of an instance are its own.
mkdir instances/a
w instances/a/set_ftrace_filter 'vfs_fsync:traceoff:4\n'
r instances/a/set_ftrace_filter
r set_ftrace_filter
w set_ftrace_filter 'vfs_fsync:traceoff:5\n'
r set_ftrace_filter
r instances/a/set_ftrace_filter
w set_ftrace_filter '!vfs_fsync:traceoff:0\n'
r instances/a/set_ftrace_filter
call rmdir instances/a
