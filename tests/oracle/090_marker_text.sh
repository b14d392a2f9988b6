# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The newline, and texts of several lines.
w trace_marker 'plain'
w trace_marker 'with newline\n'
w trace_marker 'two\nlines\n'
w trace_marker 'two newlines\n\n'
w trace_marker '\n'
w trace_marker '  blanks  \n'
w trace_marker 'tab\there\n'
w trace_marker 'percent %s %d %n\n'
r trace
