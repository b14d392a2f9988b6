# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Instances have histograms, variables and entries of their own.
E=events/initcall/initcall_finish/trigger
S=events/initcall/initcall_start/trigger
mkdir instances/hi
hist_add instances/hi/$E 'keys=ret:x=ret'
hist_show "$E"
hist_add "$S" 'keys=func:y=$x'
hist_add instances/hi/$S 'keys=func:y=$x'
hist_add instances/hi/$S 'keys=nosuch'
grep -c . instances/hi/error_log error_log
hist_add instances/hi/$S 'keys=ret:z=common_timestamp'
hist_add instances/hi/$E 'keys=ret:z=common_timestamp'
r instances/hi/trace_clock
r trace_clock
rmdir instances/hi 2>/dev/null || echo busy
hist_clean instances/hi/$S
hist_clean instances/hi/$E
hist_add instances/hi/$E 'keys=ret'
rmdir instances/hi 2>/dev/null || echo busy
