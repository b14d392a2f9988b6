# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# 0 is off, any other number is on.
for text in 0 1 2 00 x -1 ' 1' 100 '0\n'; do
  w tracing_on "$text"
  r tracing_on
done
