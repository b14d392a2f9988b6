# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# function_graph by the same filter.
users() { sed -E 's/^([^ ]+ \([0-9]+\)( R)?).*/\1/' enabled_functions; }
echo 'vfs_mk*' >set_ftrace_filter
echo vfs_mknod >set_ftrace_notrace
echo function_graph >current_tracer
users
r set_ftrace_filter
w set_ftrace_filter '!vfs_mkdir\n'
users
echo function >current_tracer
users
echo nop >current_tracer
users
