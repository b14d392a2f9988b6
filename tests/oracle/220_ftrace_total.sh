# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# dyn_ftrace_total_info and the lists agree.
total=$(wc -l <available_filter_functions)
[ "$(wc -l <available_filter_functions_addrs)" = "$total" ] && echo same
[ "$(sed 's/ .*//' dyn_ftrace_total_info)" = "$total" ] && echo same
sed -E 's/[0-9]+/N/g' dyn_ftrace_total_info
[ "$(sed 's/^[0-9a-f]* //' available_filter_functions_addrs | sed -n '5,20p')" = \
  "$(sed -n '5,20p' available_filter_functions)" ] && echo same
grep -E '^vfs_mk' available_filter_functions
grep -cE '^[0-9a-f]{12,16} vfs_fsync$' available_filter_functions_addrs
w available_filter_functions 'x\n'
w enabled_functions 'x\n'
