# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# What is a number for an enable file.
f=events/sched/sched_waking/enable
for text in 1 0 01 +1 00 2 x -1 ' 1' '1 ' 0x1 1x '1\n' '1\n\n' '\n' 010 18446744073709551616 \
  4294967296 4294967297; do
  w $f "$text"
  r $f
done
