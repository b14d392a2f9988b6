# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Probes at entries are users too, and get all registers.
users() { sed -E 's/^([^ ]+ \([0-9]+\)( R)?).*/\1/' enabled_functions; }
echo vfs_fsync >set_ftrace_filter
echo function >current_tracer
echo 'p:q1 vfs_fsync' >kprobe_events
users
echo 1 >events/kprobes/q1/enable
users
echo nop >current_tracer
users
echo 0 >events/kprobes/q1/enable
users
