# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Lines of modules that are not loaded are kept, the newest first.
w set_ftrace_filter 'vfs_fsync:mod:nosuchmodule\n'
r set_ftrace_filter
w set_ftrace_filter 'vfs_mkdir:mod:nosuchmodule\n'
w set_ftrace_filter '*:mod:othermodule\n'
r set_ftrace_filter
w set_ftrace_filter 'vfs_mknod\n'
r set_ftrace_filter
w set_ftrace_filter ':mod:third\n'
r set_ftrace_filter
w set_ftrace_filter 'vfs_fsync:mod:no*module\n'
r set_ftrace_filter
t set_ftrace_filter '\n'
r set_ftrace_filter
