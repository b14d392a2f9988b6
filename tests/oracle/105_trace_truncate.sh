# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# > on trace clears, other writes are ignored.
w trace_marker 'one\n'
w trace 'anything\n'
r trace | tail -n 1
call o trace t
r trace
w trace_marker 'two\n'
t trace 'text\n'
r trace
