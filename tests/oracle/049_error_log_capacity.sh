# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Eight entries stay.
f=events/sched/sched_switch/filter
for n in 1 2 3 4 5 6 7 8 9 10; do
  w $f "nosuch$n == 1\n"
done
r error_log
