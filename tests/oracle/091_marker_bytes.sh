# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Bytes that are no text.
w trace_marker 'bell\x07 escape\x1b\n'
w trace_marker 'utf8 \xc3\xa9 latin \xe9\n'
w trace_marker 'nul\x00after\n'
r trace | cat -v
echo
