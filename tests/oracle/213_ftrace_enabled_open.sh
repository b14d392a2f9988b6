# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# What is written takes effect at close.
users() { sed -E 's/^([^ ]+ \([0-9]+\)( R)?).*/\1/' enabled_functions; }
echo vfs_mkdir >set_ftrace_filter
echo function >current_tracer
exec 3>set_ftrace_filter
users
w '&3' 'vfs_fsync\n'
users
exec 3>&-
users
exec 3>>set_ftrace_notrace
w '&3' 'vfs_fsync\n'
users
exec 3>&-
users
echo nop >current_tracer
users
