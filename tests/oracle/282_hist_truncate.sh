# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# O_TRUNC takes all histograms, or none of them.
E=events/initcall/initcall_finish/trigger
S=events/initcall/initcall_start/trigger
hist_add "$E" 'keys=ret'
hist_add "$E" 'keys=func'
w $E 'traceoff:3\n'
call o $E t
hist_show "$E"
hist_add "$E" 'keys=ret:x=ret'
hist_add "$E" 'keys=func'
hist_add "$S" 'keys=func:y=$x'
call o $E t
hist_show "$E"
t $E 'hist:keys=nosuch\n'
hist_show "$E"
call o $S t
call o $E t
hist_show "$E"
w $E '!traceoff\n'
hist_clean "$S" "$E"
