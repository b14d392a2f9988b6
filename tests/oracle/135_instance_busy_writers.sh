# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Files open for writing.
for file in trace_marker trace_marker_raw free_buffer set_event trace tracing_on; do
  mkdir instances/one
  exec 3>>instances/one/$file
  echo "$file"
  call rmdir instances/one
  exec 3>&-
  rmdir instances/one
done
