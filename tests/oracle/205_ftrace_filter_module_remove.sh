# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Removing them: by pattern, or all of a module.
echo vfs_fsync:mod:one vfs_mkdir:mod:one vfs_fsync:mod:two >set_ftrace_filter
r set_ftrace_filter
w set_ftrace_filter '!vfs_fsync:mod:one\n'
r set_ftrace_filter
w set_ftrace_filter '!vfs_fsync:mod:one\n'
w set_ftrace_filter '!vfs_fsync:mod:three\n'
w set_ftrace_filter '!*:mod:one\n'
r set_ftrace_filter
w set_ftrace_filter '!*:mod:two\n'
r set_ftrace_filter
