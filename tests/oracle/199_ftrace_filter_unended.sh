# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A word without an end is done at close, without an error.
w set_ftrace_filter 'vfs_fsync'
r set_ftrace_filter
w set_ftrace_filter 'vfs_fsy'
r set_ftrace_filter
w set_ftrace_filter '!vfs_fsync'
r set_ftrace_filter
t set_ftrace_filter 'vfs_mk*'
r set_ftrace_filter
w set_ftrace_filter 'vfs_fsync:mod:nosuchmodule'
r set_ftrace_filter
