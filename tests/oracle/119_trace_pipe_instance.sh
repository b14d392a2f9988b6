# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Pipes of an instance are its own.
mkdir instances/one
exec 3<trace_pipe
call o instances/one/trace_pipe r
exec 3<&-
w instances/one/trace_marker 'one\n'
p trace_pipe
p instances/one/trace_pipe
