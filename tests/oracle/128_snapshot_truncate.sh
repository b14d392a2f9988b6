# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# > alone does nothing.
w trace_marker 'one\n'
w snapshot 1
call o snapshot t
r snapshot | tail -n 1
call o snapshot w
