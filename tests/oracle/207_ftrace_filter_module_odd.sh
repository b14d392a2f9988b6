# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# With too little, and with too much.
for text in 'vfs_fsync:mod' 'vfs_fsync:mod:a:b' 'vfs_fsync:mod:!a:b' 'vfs_fsync:MOD:a' \
  'vfs_fsync:modx:a'; do
  t set_ftrace_filter "$text\n"
  r set_ftrace_filter
done
