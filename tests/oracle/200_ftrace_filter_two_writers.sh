# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Each has a copy of its own; the last one that closes wins.
w set_ftrace_filter 'vfs_mkdir\n'
exec 3>>set_ftrace_filter 4>>set_ftrace_filter
w '&3' 'vfs_mknod\n'
w '&4' 'vfs_mkobj\n'
exec 3>&-
r set_ftrace_filter
exec 4>&-
r set_ftrace_filter
