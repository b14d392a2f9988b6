# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Markers switched off.
w options/markers 0
w trace_marker 'hello\n'
w trace_marker_raw 'abcdefgh'
w options/markers 1
w trace_marker 'hello\n'
