# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The text of an open file; a file that is read twice.
w trace_marker 'one\n'
r trace | tail -n 1
r trace | tail -n 1
exec 3<trace
w trace_marker 'two\n'
call r '&3' | tail -n 2
exec 3<&-
