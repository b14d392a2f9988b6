# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# These do not.
for file in events/sched/sched_switch/format events/sched/sched_switch/id; do
  mkdir instances/one
  exec 3<instances/one/$file
  call rmdir instances/one
  exec 3<&-
  [ -d instances/one ] && rmdir instances/one
done
