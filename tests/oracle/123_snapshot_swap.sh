# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Taking it moves the records.
w trace_marker 'one\n'
w snapshot 1
r trace
r snapshot
w trace_marker 'two\n'
r trace | tail -n 1
w snapshot 1
r snapshot | tail -n 1
w snapshot 2
r snapshot | tail -n 1
r trace
