# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# An instance has its own.
mkdir instances/a
r instances/a/set_ftrace_filter
w set_ftrace_filter 'vfs_fsync\n'
w instances/a/set_ftrace_filter 'vfs_mkdir\n'
w instances/a/set_ftrace_notrace 'vfs_mknod\n'
r set_ftrace_filter
r set_ftrace_notrace
r instances/a/set_ftrace_filter
r instances/a/set_ftrace_notrace
w instances/a/set_ftrace_filter '*:mod:nosuchmodule\n'
r instances/a/set_ftrace_filter
r set_ftrace_filter
rmdir instances/a
mkdir instances/a
r instances/a/set_ftrace_filter
rmdir instances/a
