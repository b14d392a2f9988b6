# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Symbol options leave a marker as it is.
w trace_marker 'one\n'
for option in sym-offset sym-addr print-parent; do
  before=$(cat options/$option)
  w options/$option $((1 - before))
  r trace | tail -n 1
done
