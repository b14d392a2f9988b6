# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# One reader at a time.
exec 3<trace_pipe
call o trace_pipe r
call o per_cpu/cpu0/trace_pipe r
call o per_cpu/cpu1/trace_pipe r
exec 3<&-
call o trace_pipe r
exec 3<per_cpu/cpu0/trace_pipe
call o trace_pipe r
call o per_cpu/cpu0/trace_pipe r
call o per_cpu/cpu1/trace_pipe r
exec 3<&-
