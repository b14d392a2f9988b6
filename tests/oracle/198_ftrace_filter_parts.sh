# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A word in three writes.
exec 3>>set_ftrace_filter
w '&3' 'vfs_'
w '&3' 'fsync'
r set_ftrace_filter
w '&3' '\n'
w '&3' 'vfs_mk'
w '&3' 'dir vfs_mknod'
w '&3' '\n'
exec 3>&-
r set_ftrace_filter
