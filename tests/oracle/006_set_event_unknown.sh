# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# What matches nothing is EINVAL, and so is every glob.
for spec in nosuch sched:nosuch nosuch:sched_waking nosuch: nosuch:\* 'sched_wak*' \
  'sched:sched_wak*' \
  'sch*:sched_waking' 'sched:?' 'sched-waking' 'sched:sched_waking:x' '1'; do
  w set_event "$spec\n"
done
enabled
