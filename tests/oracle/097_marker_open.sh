# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The marker files are for writing.
call o trace_marker r
call o trace_marker rw
call o trace_marker t
call o trace_marker_raw r
w trace_marker 'one\n'
call o trace_marker t
r trace | tail -n 1
