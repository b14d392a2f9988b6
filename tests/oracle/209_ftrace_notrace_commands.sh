# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Commands are for set_ftrace_filter.
for text in vfs_fsync:traceoff vfs_fsync:traceon:3 '!vfs_fsync:traceoff' vfs_fsync:snapshot \
  vfs_fsync:nosuch vfs_fsync: vfs_fsync:enable_event:sched:sched_waking; do
  w set_ftrace_notrace "$text\n"
done
r set_ftrace_notrace
r set_ftrace_filter
