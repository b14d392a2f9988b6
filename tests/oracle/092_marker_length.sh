# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A long write is cut at what a sub-buffer holds.
for length in 100 4000 4053 4054 4055 4072 4095 4096 4097 10000; do
  call fill trace_marker $length
done
