# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# 0, 1 and the others.
for text in 2 1 2 0 0 x -1 '1\n' ' 1' 100 00; do
  w snapshot "$text"
  r snapshot | grep Snapshot
done
