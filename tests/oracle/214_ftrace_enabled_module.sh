# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A filter that waits for a module traces nothing.
users() { sed -E 's/^([^ ]+ \([0-9]+\)( R)?).*/\1/' enabled_functions; }
echo '*:mod:nosuchmodule' >set_ftrace_filter
echo function >current_tracer
users
w set_ftrace_filter 'vfs_fsync\n'
users
echo nop >current_tracer
