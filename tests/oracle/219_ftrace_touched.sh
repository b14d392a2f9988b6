# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# touched_functions never forgets.
touched() { grep -E '^vfs_fadvise ' touched_functions | sed -E 's/^([^ ]+ \([0-9]+\)).*/\1/'; }
echo vfs_fadvise >set_ftrace_filter
echo function >current_tracer
touched
echo nop >current_tracer
touched
