# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# It is for reading.
w trace_pipe 'x\n'
call o trace_pipe w
call o trace_pipe t
