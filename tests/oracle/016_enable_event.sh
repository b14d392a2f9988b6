# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Enabling twice, disabling twice.
f=events/sched/sched_waking/enable
for text in 1 1 0 0; do
  w $f "$text\n"
  r $f
  enabled
done
