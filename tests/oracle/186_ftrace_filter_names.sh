# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Exact names.
for pattern in 'vfs_fsync' 'vfs_mkdir' 'vfs_fsync_range' 'vfs_mknod'; do
  t set_ftrace_filter "$pattern\n"
  r set_ftrace_filter
done
