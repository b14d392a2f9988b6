# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# enabled_functions follows the filters of a tracer that runs.
users() { sed -E 's/^([^ ]+ \([0-9]+\)( R)?).*/\1/' enabled_functions; }
users
echo vfs_fsync >set_ftrace_filter
users
echo function >current_tracer
users
w set_ftrace_filter 'vfs_mk*\n'
users
w set_ftrace_notrace 'vfs_mkdir\n'
users
w set_ftrace_notrace '!vfs_mkdir\n'
users
t set_ftrace_filter 'vfs_mkdir\n'
users
w set_ftrace_filter 'nosuchfunction\n'
users
echo nop >current_tracer
users
r set_ftrace_filter
