# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Nothing is a comment.
for pattern in '#' '# vfs_fsync' '#vfs_fsync' 'vfs_fsync#'; do
  t set_ftrace_filter "$pattern\n"
  r set_ftrace_filter
done
