# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A raw marker is never cut.
for length in 4 100 4000 4060 4061 4064 4072 4095 4096 4097; do
  call fill trace_marker_raw $length
done
