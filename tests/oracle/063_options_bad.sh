# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Only 0 and 1.
for text in 2 x -1 ' 1' '1 ' 01 +0 '1\n\n'; do
  w options/markers "$text"
done
r options/markers
call o options/nosuch r
