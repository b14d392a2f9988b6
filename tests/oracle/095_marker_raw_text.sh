# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The text of a raw marker, four bytes at a time.
w trace_marker_raw 'abcdefgh'
w trace_marker_raw '\x01\x00\x00\x00\xff\xfe\xfd\xfc'
w trace_marker_raw '\x00\x00\x00\x000123456789ab'
r trace
