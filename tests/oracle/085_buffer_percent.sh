# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# 0 to 100.
r buffer_percent
for text in 0 100 101 -1 x 007 '50\n'; do
  w buffer_percent "$text"
  r buffer_percent
done
