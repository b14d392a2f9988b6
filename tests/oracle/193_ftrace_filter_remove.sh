# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# An exclamation mark removes; what is not there needs no removal.
t set_ftrace_filter 'vfs_mk*\n'
w set_ftrace_filter '!vfs_mkdir\n'
r set_ftrace_filter
w set_ftrace_filter '!vfs_mkdir\n'
w set_ftrace_filter '!vfs_fsync\n'
w set_ftrace_filter '!nosuchfunction\n'
w set_ftrace_filter '!\n'
w set_ftrace_filter '! vfs_mknod\n'
r set_ftrace_filter
w set_ftrace_filter '!vfs_mk*\n'
r set_ftrace_filter
w set_ftrace_filter '!vfs_*\n'
r set_ftrace_filter
w set_ftrace_filter '!!vfs_fsync\n'
