# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The same text by small reads.
w trace_marker 'one\n'
w trace_marker 'two\n'
r trace 10
