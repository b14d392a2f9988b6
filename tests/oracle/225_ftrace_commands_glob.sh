# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A command at many functions; they can be removed one by one.
list() { grep : set_ftrace_filter | sort; }
w set_ftrace_filter 'vfs_mk*:traceoff\n'
list
w set_ftrace_filter '!vfs_mkdir:traceoff\n'
list
w set_ftrace_filter 'vfs_mkdir:traceoff\n'
list
w set_ftrace_filter 'vfs_fsync:traceoff:3\n'
w set_ftrace_filter '!*:traceoff\n'
list
w set_ftrace_filter '!vfs_*:traceoff:0\n'
list
