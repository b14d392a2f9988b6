# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Sizes in KB, rounded up.
for text in 100 1 4 1000 0 -1 x '12\n' ' 12' 12k; do
  w buffer_size_kb "$text"
  r buffer_size_kb
done
