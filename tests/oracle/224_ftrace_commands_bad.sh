# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# What is no command, or no count.
for text in vfs_fsync: vfs_fsync:nosuch vfs_fsync::traceoff : :: ':traceoff' vfs_fsync:traceoff: \
  vfs_fsync:traceoff:x vfs_fsync:traceoff:-1 vfs_fsync:traceoff:1x nosuchfunction:traceoff \
  'nosuch*:traceoff:3' '!nosuchfunction:traceoff' '!vfs_fsync:traceoff' '!vfs_fsync:snapshot:0' \
  '!vfs_fsync:nosuch' vfs_fsync:TRACEOFF; do
  w set_ftrace_filter "$text\n"
done
r set_ftrace_filter
