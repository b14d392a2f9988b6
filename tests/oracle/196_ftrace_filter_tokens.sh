# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# One word a write.
for text in 'vfs_fsync vfs_mkdir\n' 'vfs_fsync\nvfs_mkdir\n' '\tvfs_fsync\n' '  vfs_fsync' \
  'vfs_fsync\x00vfs_mkdir\n' ' \n' '\n' '' 'nosuch vfs_fsync\n' 'vfs_fsync \n' \
  '\n\nvfs_mknod\n'; do
  t set_ftrace_filter "$text"
  r set_ftrace_filter
done
