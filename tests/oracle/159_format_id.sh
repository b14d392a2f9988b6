# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# id is the ID of the format.
for event in sched/sched_switch kmem/kfree syscalls/sys_enter_openat; do
  [ "$(sed -n 's/^ID: //p' events/$event/format)" = "$(cat events/$event/id)" ] && echo \
  "$event same"
done
call o events/sched/sched_switch/id w
call o events/sched/sched_switch/format w
w events/sched/sched_switch/format x
