# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A tracer goes with its instance.
users() { sed -E 's/^([^ ]+ \([0-9]+\)( R)?).*/\1/' enabled_functions; }
mkdir instances/a
echo vfs_fsync >instances/a/set_ftrace_filter
echo function >instances/a/current_tracer
users
call rmdir instances/a
users
