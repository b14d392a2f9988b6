# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The tracer of an instance.
mkdir instances/a
echo vfs_fsync >set_ftrace_filter
echo vfs_fsync >instances/a/set_ftrace_filter
w instances/a/current_tracer 'function\n'
r current_tracer
r instances/a/current_tracer
w instances/a/current_tracer 'function_graph\n'
r instances/a/current_tracer
w current_tracer 'function\n'
r current_tracer
r instances/a/current_tracer
w instances/a/current_tracer 'nosuch\n'
r instances/a/current_tracer
echo nop >current_tracer
r instances/a/current_tracer
call rmdir instances/a
