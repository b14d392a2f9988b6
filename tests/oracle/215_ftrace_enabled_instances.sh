# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Two tracers at one function are counted.
users() { sed -E 's/^([^ ]+ \([0-9]+\)( R)?).*/\1/' enabled_functions; }
mkdir instances/a
echo vfs_fsync >set_ftrace_filter
echo 'vfs_fsync vfs_mkdir' >instances/a/set_ftrace_filter
echo function >current_tracer
users
echo function >instances/a/current_tracer
users
w instances/a/set_ftrace_filter '!vfs_fsync\n'
users
echo 'vfs_mk*' >set_ftrace_filter
users
echo nop >current_tracer
users
echo nop >instances/a/current_tracer
users
rmdir instances/a
