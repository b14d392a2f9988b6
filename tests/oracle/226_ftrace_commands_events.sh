# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# enable_event and disable_event.
list() { grep : set_ftrace_filter | sort; }
for text in vfs_fsync:enable_event:sched:sched_waking vfs_fsync:disable_event:sched:sched_waking \
  vfs_fsync:enable_event:sched:sched_waking:2 vfs_fsync:enable_event:sched:sched_waking \
  vfs_fsync:enable_event:sched:nosuch vfs_fsync:enable_event:nosuch:sched_waking \
  vfs_fsync:enable_event vfs_fsync:enable_event:sched \
  vfs_fsync:enable_event:sched:sched_waking:x; do
  w set_ftrace_filter "$text\n"
done
list
r events/sched/sched_waking/enable
for text in '!vfs_fsync:enable_event:sched:sched_waking' \
  '!vfs_fsync:enable_event:sched:sched_waking:0' '!vfs_fsync:disable_event:sched:sched_waking' \
  '!vfs_fsync:disable_event:sched:sched_waking'; do
  w set_ftrace_filter "$text\n"
done
list
r events/sched/sched_waking/enable
echo 0 >events/sched/sched_waking/enable
