# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A clock that counts is shown plain.
w trace_clock 'counter\n'
w trace_marker 'one\n'
w trace_marker 'two\n'
r trace
w trace_clock 'x86-tsc\n'
w trace_marker 'three\n'
r trace
