# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Raw markers: an id and bytes.
w trace_marker_raw 'abc'
w trace_marker_raw 'abcdefgh'
w trace_marker_raw 'abcdefghijk'
w trace_marker_raw 'abcd'
r trace | sed 's/\(abcd\|64636261 buf:\).*/\1/' | tail -n 3
