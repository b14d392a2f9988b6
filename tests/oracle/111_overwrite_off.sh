# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A full buffer refuses.
w buffer_size_kb 8
w options/overwrite 0
n=0
while [ $n -lt 20 ]; do
  call fill trace_marker 1000
  n=$((n + 1))
done | sort | uniq
