# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# dump, cpudump and snapshot.
w set_ftrace_filter 'vfs_fsync:dump\n'
w set_ftrace_filter 'vfs_fsync:cpudump\n'
w set_ftrace_filter 'vfs_fsync:snapshot:2\n'
r set_ftrace_filter
w set_ftrace_filter '!vfs_fsync:dump\n'
w set_ftrace_filter '!vfs_fsync:cpudump\n'
w set_ftrace_filter '!vfs_fsync:snapshot:0\n'
r set_ftrace_filter
