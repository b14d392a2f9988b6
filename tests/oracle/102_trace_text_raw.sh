# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# raw, hex, bin and fields for a marker.
w trace_marker 'one\n'
for option in raw hex fields; do
  w options/$option 1
  r trace | tail -n 2
  w options/$option 0
done
w options/bin 1
r trace | tail -c 8
