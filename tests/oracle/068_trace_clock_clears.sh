# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Any clock that is set clears the buffer.
w trace_marker 'one\n'
w trace_clock 'mono\n'
r trace | tail -n 1
w trace_marker 'two\n'
w trace_clock 'mono\n'
r trace | tail -n 1
