# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Records stay when the size changes.
w trace_marker 'one\n'
w buffer_size_kb 2000
w trace_marker 'two\n'
w buffer_size_kb 100
r trace | tail -n 2
