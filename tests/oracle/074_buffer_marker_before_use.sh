# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# fresh
# A marker does not expand the buffer.
w trace_marker 'one\n'
r buffer_size_kb
r trace | tail -n 1
